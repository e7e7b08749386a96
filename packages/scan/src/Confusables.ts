/** Letters that look like others. Small on purpose: mixed scripts within one word or host are what attacks use. */

const latin = /\p{Script=Latin}/u
const lookalikeScripts = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u
/** Mathematical letters and full-width forms, which normalize to plain ASCII. */
const styledAscii = /[\u{1d400}-\u{1d7ff}\u{ff21}-\u{ff3a}\u{ff41}-\u{ff5a}]/u
/** Cyrillic and Greek letters that have a Latin twin in common fonts. */
const onlyTwins = /^[асеорхуіјѕԁԛԝһӏіαοινκρτυΑΒΕΖΗΙΚΜΝΟΡΤΥΧ.\-0-9]+$/iu

/** A word of Latin letters with some of another script between them. */
export const isMixedScript = (word: string): boolean =>
  (latin.test(word) && lookalikeScripts.test(word)) || (styledAscii.test(word) && word.normalize("NFKC") !== word)

/** A host name that a reader takes for another one. `host` is in Unicode, not punycode. */
export const isConfusableHost = (host: string): boolean =>
  host.split(".").some((label) => isMixedScript(label) || (/[^\x00-\x7f]/u.test(label) && onlyTwins.test(label)))
