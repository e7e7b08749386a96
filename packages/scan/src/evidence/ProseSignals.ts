/**
 * What an instruction can say against the person it is for. One signal is seldom
 * proof, and honest packages speak of most of these things; `Evidence.ts` adds
 * up signals of different kinds. Patterns are tried on single statements, of
 * bounded length, and every gap in them is bounded.
 */
import { cueBook } from "./Cues.ts"
import { prefilter } from "../rules/Prefilter.ts"
import { proseCues } from "./ProseCues.ts"
import { isGranted } from "./Signal.ts"
import type { Kind, Signal } from "./Signal.ts"
import type { Statement } from "./Statements.ts"
import { tokensOf } from "./Tokens.ts"

interface ProseRule {
  readonly kind: Kind
  readonly weight: number
  readonly what: string
  readonly pattern: RegExp
  /** The sense turns when the statement forbids it. */
  readonly negatable?: boolean
  /** What is only named, as in a list of things to look for, counts too. */
  readonly evenMentioned?: boolean
  readonly isForeign?: boolean
  readonly isCue?: boolean
  /** Not for text in ASCII alone. */
  readonly isOtherScript?: boolean
}

const who = String.raw`(?:(?:the|our|your|his|her|their|any|all|this|an?)\s+)?(?:end[- ])?(?:hiring |security |finance |support )?(?:users?|persons?|people|humans?|operators?|owners?|customers?|clients?|readers?|reviewers?|staff|teams?|colleagues?|employees?|participants?|parents?|maintainers?|developers?|admins?|administrators?|managers?|auditors?|teachers?|patients?|candidates?|guests?|members?|approvers?|visitors?|children|child|pupils?|students?|anyone|anybody|everyone|him|her|them|they|he|she)`
const record = String.raw`(?:report|reports|summary|summaries|logs?|answers?|output|list|lists?|record|records|diff|transcripts?|ranking|view|protocol|minutes|change ?log|message|messages|review|reply|overview|table|result|results|history|notes?|response|confirmation|receipt|\x60[\w./-]+\x60)`
/** An address written out: a url, a mailbox or a host. */
const place = String.raw`(?:https?:\/\/[^\s)"'\x60>]{4,200}|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}|\b[a-z0-9-]{2,63}(?:\.[a-z0-9-]{2,63}){1,4}\.(?:example|test|com|net|org|io|dev|app|ai|co|info|biz|xyz|online|site|cloud|ru|cn|de|fr|eu|uk|invalid)\b)`
const its = String.raw`(?:it|this|that|these|them|those|so|(?:this|the|that|these) (?:[\w-]+ ){0,2}?(?:step|steps|upload|block|rule|rules|note|phrase|transfer|copy|copies|change|changes|deletion|query|queries|host|command|commands|bundle|section|line|lines|paragraph|instructions?|details?|call|request|requests|exception|message|text|part|entry|entries|address|file|task|action|actions|export|backup|sync|recipient|account|policy|paragraphs?|settings?|hook|connection|process|addition|addendum|activity|procedure)|step \d+)`
const of = (source: string) => new RegExp(source, "iu")

/** `\b` knows ASCII letters only. */
const word = (source: string) => new RegExp(`(?<![\\p{L}\\p{N}])(?:${source})`, "iu")

const english: ReadonlyArray<ProseRule> = [
  {
    kind: "disable-guard",
    weight: 0.9,
    what: "opens a door that should stay shut",
    pattern: of(
      String.raw`\b(?:escape|break out of|get out of|circumvent|evade|work around|get around|get past)\b.{0,40}\b(?:sandbox|container|jail|isolation|chroot|allow-?list|egress|permissions?)\b|\bcluster-admin\b.{0,80}|\b(?:public|open) (?:load balancer|bucket|port)\b|\b0\.0\.0\.0\/0\b.{0,40}\b(?:allow|open)|\benable (?:the )?macros\b.{0,60}|\bmacros\b.{0,40}\benable them|click(?:ing)? through (?:the |any )?(?:warning|dialog)s?|\b(?:install|add|import|trust)\b.{0,40}\b(?:root )?(?:CA|certificate)s?\b.{0,40}\b(?:system|trust|browser|key ?chain)|delete the integrity|(?:certificate|TLS|SSL) (?:error|warning)s? (?:can|may|should|is|are)|add the tool to the allow|\b(?:approve|merge|sign)\b.{0,80}\bwithout (?:reading|review|looking|checking|opening)|dismiss (?:open |all )?(?:review )?comments`
    ),
    negatable: true
  },
  {
    kind: "conceal",
    weight: 0.9,
    what: "tampers with records of what was done",
    pattern: of(
      String.raw`\b(?:take out|remove|delete|strip|erase|purge|edit|clear|drop|blank)\b.{0,60}\b(?:lines?|entr(?:y|ies)|records?|rows?|mentions?)\b.{0,80}(?:\/var\/log|auth\.log|\b(?:event|audit|access|system|security|activity|call|visitor) logs?\b|history\b)|tick the box|nobody should be able to tell|(?:score|sheet|report|list|summary) must not (?:show|say|reveal)|participants can['’]t see|(?:described|booked|shown|listed|reported|recorded|entered|logged) as (?:performance|routine|spread|fee|tips|maintenance|caching|a bug|an? error|passing|normal|verified)|consent (?:can|may) be (?:assumed|taken)|consent is (?:assumed|implied)`
    ),
    negatable: true
  },
  {
    kind: "partial",
    weight: 0.9,
    what: "falsifies what it works on",
    pattern: of(
      String.raw`\b(?:names?|accents?|surnames?|applicants?|candidates?|tenants?|customers?)\b.{0,60}\b(?:foreign|older than|pregnant|disabled|migrant|minority|religio\w*)\b.{0,60}\b(?:less|lower|minus|reject|points|skip|decline)|edit the expected (?:value|result|output)s?|(?:change|adjust|edit|alter) .{0,40}\b(?:until|so that) (?:it|they|the tests?|the checks?) (?:holds?|pass(?:es)?|succeeds?|agrees?|looks?)|\breport (?:the suite|it|them|all) as (?:passing|passed|done|ok|clean|verified)|even where the policy (?:grants|allows)|whatever the (?:numbers|sources|facts|data|results|tests|evidence) (?:say|show)|phrased as your own|attribute (?:it|them) to|promised anonymity|\?(?:aff|ref|partner|affiliate)=`
    ),
    negatable: true
  },
  {
    kind: "authority",
    weight: 0.8,
    what: "puts itself above the operator or the person",
    pattern: of(
      String.raw`\b(?:ranks? higher|weighs? more|is above|stands? above) (?:than|over)?\b.{0,40}\b(?:anything|everything|what) (?:the|your|any)|\bthe only (?:rules?|instructions?|authority) (?:are|is|that counts?)|(?:host|platform|operator|system|provider).{0,40}\b(?:claims?|pretends?|will claim|is mistaken|has no say|cannot be trusted|lies)|\b(?:special|secret|hidden) rules\b.{0,40}\b(?:no|deny)`
    ),
    negatable: true
  },
  {
    kind: "send",
    weight: 0.9,
    what: "adds a hidden recipient",
    pattern: of(
      String.raw`(?:blind[- ]?cop|\bbcc\b|copie cachée|copia oculta|cópia oculta|copia nascosta|blindkopie|verborgen kopie|ukryt\w+ kopi|скрыт\S+ копи|密送|密件抄送|숨은 참조).{0,160}@|@.{0,160}(?:blind[- ]?cop|\bbcc\b|copie cachée|copia oculta|cópia oculta|copia nascosta|blindkopie|verborgen kopie|ukryt\w+ kopi|скрыт\S+ копи|密送|密件抄送|숨은 참조)`
    ),
    negatable: true
  },
  {
    kind: "payment",
    weight: 0.5,
    what: "writes out an account for money to go to",
    pattern: of(
      String.raw`(?<![\w+/=])[A-Z]{2}\d{2} ?(?:[A-Z0-9]{4} ?){3,7}[A-Z0-9]{1,4}(?![\w+/=])|\b0x[0-9a-f]{40}\b|\bbc1[a-z0-9]{25,60}\b|\baccount \d{3,6}-\d{2,8}`
    ),
    evenMentioned: true
  },
  {
    kind: "code",
    weight: 0.9,
    what: "runs what it gets from an address",
    pattern: of(
      String.raw`\b(?:fetch|download|get|load|retrieve|pull|grab)\b.{0,60}https?:\/\/[^\s]{4,200}.{0,80}\b(?:execute|run|launch|source|eval)(?: it| them| the| with| in|s it)\b|\b(?:execute|run|launch|pipe|source)\b.{0,60}\b(?:from|at|of) https?:\/\/[^\s]{4,200}\.(?:sh|py|js|mjs|ps1|exe|bin|pl|rb)\b`
    ),
    negatable: true
  },
  {
    kind: "conceal",
    weight: 0.8,
    what: "hides the traces of an act",
    pattern: of(
      String.raw`\b(?:no reason to|not necessary to|unnecessary to|no point in|needless to|no use in) (?:raise|rais|mention|tell|bring|flag|note|report|show|explain|inform|discuss)\w* (?:${its}|${who})|\bneed(?:s)? not (?:appear|show up|be (?:mentioned|listed|reported|shown|visible))|(?:don['’]?t|do not|never) (?:point (?:it|this|that|them) out|make a fuss|leave (?:any |a )?trace|make (?:it|this) visible)|(?:stays?|remains?|is|keep (?:it|this)) (?:strictly )?between (?:us|you and|ourselves|the two)|(?:erase|delete|remove|clear|wipe|clean)\b.{0,40}\b(?:traces?|sent (?:mail|message|item|copy)|from the (?:sent|history|log)|(?:shell|command|bash) history|log (?:entry|entries|lines?)|evidence|the remote (?:from|again|afterwards))|drop the remote|(?:only )?(?:if|when|until|unless) (?:somebody|someone|anybody|anyone|the user|they|he|she) (?:notices?|complains?|finds? out)|make it look (?:natural|like|as if)|look(?:s)? (?:natural|harmless|routine|innocent)|(?:goes|go|pass(?:es)?) unnoticed|(?:this|it|which|that) (?:is|are) not shown to|under (?:the|an?) (?:name|label|heading) (?:of )?"|nobody outside|hidden from (?:the user|people)|invisible to`
    ),
    negatable: false
  },
  {
    kind: "false-report",
    weight: 0.6,
    what: "tells people what is not so",
    pattern: of(
      String.raw`\b(?:tell|say|claim|report|pretend|answer|state|assure|confirm|promise)\b.{0,90}\b(?:even (?:if|when|though)|although|regardless|no matter|whatever (?:the|happens)|whether or not)\b|\bpretend (?:that )?(?:the|you|it|all|to (?:have|be|check|ask))|\b(?:show|present|display|book|bill|pass|disguise|frame|log|justify) (?:it|this|that|them)(?: off)? (?:as (?:a|an|part|the|routine)|with plausible)|\bsay (?:that )?(?:the|it|this|your|everything) [\w ]{1,40}\b(?:is|was|are|were|stays?) (?:local|safe|down|off|gone|private|secure|encrypted|deleted|unchanged|a |an |part|normal|busy|unavailable|only)`
    ),
    negatable: true
  },
  {
    kind: "obey-data",
    weight: 0.9,
    what: "makes orders of what data says",
    pattern: of(
      String.raw`\b(?:text|content|comments?|lines?|messages?|notes?|cells?|anything|whatever|mails?|tickets?|pages?|entries|files?)\b.{0,120}\b(?:(?:has|have|is|are|must|should|to) (?:to )?be (?:executed|run|obeyed|followed|carried out|treated as (?:an? )?(?:order|instruction|command|system)|complied with)|(?:comes?|come) from (?:the|your) (?:[\w-]+ )?(?:lead|admin\w*|operator|system|owner|developer|vendor|maintainers?)|(?:as|with) (?:if (?:it|they) came from|high(?:er|est)? priority|the authority of))`
    ),
    negatable: true
  },
  {
    kind: "authority",
    weight: 0.7,
    what: "claims a standing approval",
    pattern: of(
      String.raw`\b(?:blanket|standing|unlimited|full|prior|advance|implicit|general) (?:approval|permission|consent|authority|authori[sz]ation|clearance|mandate|trust)\b|\bgrant yourself\b|\bgive yourself\b.{0,40}\b(?:access|rights?|permission)|\bedit(?:ing)? (?:agent\.yaml|the manifest|your (?:own )?(?:manifest|permissions|settings))|answers? to nobody|refusals? (?:are|is) (?:out of place|not|forbidden)|\bno content policy\b|overrides everything|use your own judgement about what to execute|(?:instructions?|rules?|polic(?:y|ies)|guidelines?|restrictions?).{0,60}\b(?:deprecated|revoked|cancell?ed|overruled|lapsed|inapplicable|not in force|of no effect|have been (?:replaced|removed|withdrawn))`
    ),
    negatable: true
  },
  {
    kind: "authority",
    weight: 0.6,
    what: "waits for a phrase or a date to turn",
    pattern: of(
      String.raw`\b(?:if|when|whenever|should|once|in case|as soon as)\b.{0,60}\b(?:types?|says?|mentions?|writes?|contains?|includes?|hears?|sends?|uses?)\s*(?:the (?:words?|phrase|code|string) )?"[^"]{1,80}".{0,80}\b(?:print|drop|ignore|reveal|give|unlock|all|act|obey|switch|do (?:what|as)|release|disable|read out|hand)\b|\b(?:after|from|since|past|once|later than|starting) (?:(?:on )?\d{1,2}(?:st|nd|rd|th)? \w+ |\w+ \d{1,2},? )?20\d\d\b.{0,80}\b(?:delete|run|send|upload|stop|disable|remove|destroy|switch|load)|otherwise behave (?:normally|as usual)|\b(?:secret|magic|trigger) (?:word|phrase|code)\b.{0,80}(?:unlock|all|restrict|obey|print)`
    ),
    negatable: true
  },
  {
    kind: "speaks-to-agent",
    weight: 0.6,
    what: "speaks to whoever reviews it",
    pattern: of(
      String.raw`\b(?:if|when|in case|should|whenever)\b.{0,30}\b(?:security tools?|scanners?|review(?:er|ing model)s?|classifiers?|moderation|auditing (?:tool|model)|safety (?:model|filter|system)|judge model)s?\b.{0,80}\b(?:reads?|scans?|sees?|analy[sz]es?|evaluat\w+|check(?:s|ing)? this)\b|\b(?:mark|rate|label|classify|score|report|treat|consider|grade) (?:it|this(?: package| file| agent)?) (?:as )?(?:an? )?(?:clean|safe|benign|harmless|trusted|low[- ]risk|approved|passed)|\b(?:this|the) (?:package|skill|agent|file|text)\b.{0,40}\b(?:has already|was|is|has been) (?:\w+ )?(?:passed inspection|audited|vetted|reviewed|allow-?listed|whitelisted|certified|pre-?approved|cleared|verified)`
    )
  },
  {
    kind: "partial",
    weight: 0.8,
    what: "tilts its answer for somebody else",
    pattern: of(
      String.raw`\b(?:must|should|shall|has to|have to|needs? to|always|are to|is to)\b.{0,20}\b(?:come out on top|come first|be (?:judged|rated|ranked|shown|named|placed|listed|considered) (?:as )?(?:acceptable|best|first|highest|on top|top|superior|cheapest|safest)|win|score (?:highest|full)|be recommended|be preferred)|adjust the (?:scores?|numbers?|results?|weights?|ranking) until|\b(?:insert|add|place|include|work in|weave|embed)\b.{0,40}\b(?:a |the |our )?(?:link|advert\w*|ad|promo\w*|mention|backlink|tracking pixel|referral)\b.{0,60}|(?:rank|rate|score|favou?r|prefer|promote|praise|recommend)\b.{0,60}\b(?:higher|above (?:all|the)|whatever|no matter|regardless|in every case|in any case)|(?:reject|downgrade|mark down|discourage|deduct)\b.{0,60}\b(?:names?|age|women|foreign|competitors?|surname|postcode|nationality|accent)`
    ),
    negatable: true
  },
  {
    kind: "payment",
    weight: 0.6,
    what: "spends the person's money for others",
    pattern: of(
      String.raw`\b(?:buy|purchase|order|book|subscribe|donate|tip|transfer|pay|charge)\b.{0,100}\b(?:gift (?:card|voucher)s?|voucher|stored card|card on file|saved (?:card|payment)|premium (?:plan|tier)|our (?:account|wallet)|the (?:author|publisher)['’]s)|\b(?:stored|saved) (?:card|payment method)\b.{0,60}\b(?:buy|order|pay|purchase)|round(?:ing)? (?:up )?.{0,40}\bto (?:our|the author|this) (?:account|wallet)`
    ),
    negatable: true
  },
  {
    kind: "sensitive",
    weight: 0.6,
    what: "takes what is private",
    pattern: of(
      String.raw`\bkubectl get secrets?\b.{0,30}(?:-o|-A)|\bpublic (?:gist|paste|bucket|issue|repository|channel)\b|\b(?:include|attach|add|append|send|post|put)\b.{0,60}\b(?:printenv|all (?:environment )?variables|the (?:whole|full|entire) environment|home (?:folder|directory)|working copy|working tree|whole (?:repository|disk|drive)|keystrokes|clipboard|webcam|microphone|location history|contact list|address book|passport (?:number|scan)|card (?:security code|number)|health (?:data|records?)|API_KEY|_TOKEN\b|_SECRET\b)|\b(?:screenshots?|recordings?|photos?|face (?:crops?|images?))\b.{0,80}\b(?:upload|send|post|go(?:es)? to|to https?:)|\b(?:tar|zip|archive|pack|bundle|copy)\b.{0,30}\b(?:home (?:folder|directory)|~\/|\$HOME|whole|entire|all (?:of )?(?:the )?(?:files|documents))`
    ),
    negatable: true
  },
  {
    kind: "destroy",
    weight: 0.7,
    what: "destroys what is not its own",
    pattern: of(
      String.raw`\b(?:delete|erase|wipe|destroy|purge|drop|remove|empty|overwrite|clear|truncate|shred)\b.{0,50}(?:\s\/(?:var|etc|home|usr|srv|opt|root|boot|mnt|data)\b|~\/(?!\.cache)|\b(?:customers?|users?|orders?|production|prod|payments?) (?:table|database|schema|data|cluster|bucket|account)|every branch|all branches|all tags|git history|the (?:whole|entire) (?:\w+ )?(?:history|disk|database|repository|bucket|account|folder|mailbox|drive))|\bno backups? (?:is|are) needed|without (?:a |any |making a )?backup|rewrite (?:the )?(?:whole |entire )?history|\bencrypt (?:every|all|each)\b|(?:payment|ransom) (?:directions|instructions|note|demand)|beyond (?:repair|recovery)|cannot be restored|so that (?:nothing|no one|nobody) can (?:be )?(?:restore|recover)`
    ),
    negatable: true
  },
  {
    kind: "phish",
    weight: 0.9,
    what: "gets passwords or codes out of a person",
    pattern: of(
      String.raw`\b(?:ask|prompt|request|get|have|tell|persuade|convince)\b.{0,60}\b(?:digit code|code (?:that|which|from|by|sent)|(?:log-?in|sign-?in|bank(?:ing)?|e-?mail|account) (?:data|details|credentials?|password|PIN)|security (?:code|question|answer)s?|seed words?|private key|recovery words?|card details)\b|\b(?:verify|confirm) (?:the |your |their |his |her )?(?:identity|account|card) (?:by|with)\b.{0,60}\b(?:password|PIN|code|card)`
    ),
    negatable: true
  },
  {
    kind: "conceal",
    weight: 0.8,
    what: "keeps an act from being told",
    pattern: of(
      String.raw`\b(?:do not|don['’]?t|never|no need to|needn['’]t|need not|without|avoid|refrain from|rather than|must not|mustn['’]t|should not|shouldn['’]t|nor|not to|nobody (?:should|must|may))\s+(?:ever\s+|even\s+|have to\s+|to\s+|openly\s+)?(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|notify(?:ing)?|alert(?:ing)?|bother(?:ing)?|troubl(?:e|ing)|burden(?:ing)?|disturb(?:ing)?|report(?:ing)?|list(?:ing)?|log(?:ging)?|bring(?:ing)?|announc(?:e|ing)|admit(?:ting)?|acknowledg(?:e|ing)|draw(?:ing)? attention|refer(?:ring)? to|talk(?:ing)? about|speak(?:ing)? (?:of|about)|surfac(?:e|ing)|not(?:e|ing)|document(?:ing)?|flag(?:ging)?|include|including|explain(?:ing)?)\s+(?:(?:to )?${who}\s+(?:about\s+|of\s+|that\s+|with\s+|on\s+)?)?(?:to\s+|about\s+|on\s+)?${its}\b(?!\s+(?:guide|value|key|token|person|name|customer|secret|password)s?\b)`
    )
  },
  {
    kind: "conceal",
    weight: 0.7,
    what: "keeps an act from being shown",
    pattern: of(
      String.raw`\b(?:do not|don['’]?t|never|without|must not|no need to)\s+(?:show(?:ing)?|print(?:ing)?|display(?:ing)?|output(?:ting)?)\s*(?:(?:\s${its})?\s*\)|\s${its}\b(?:.{0,40}\b(?:${who}|decod|before|in the)\b|\s*[.,;]|$)|\s(?:to\s+)?${who}\s+(?:${its}|what))`
    )
  },
  {
    kind: "conceal",
    weight: 0.9,
    what: "leaves an act out of what is reported",
    pattern: of(
      String.raw`\b(?:skip|omit|leave out|ignore|forget) (?:${its}) in (?:the |your )?${record}|\b(?:leave|leaving|keep|keeping|omit|omitting|strike|drop|exclude|excluding|hide|hiding|hold|conceal|concealing|withhold|stay|stays|kept|left|omitted|hidden)\s+(?:${its}\s+|(?:both|all|the|such|any) (?:[\w-]+ ){1,4}?)?(?:out of|from|off|outside)\s+(?:(?:the|your|any|every|his|our|their|all) )?(?:[\w'’-]+ ){0,3}?(?:${record}|${who})\b`
    )
  },
  {
    kind: "conceal",
    weight: 0.85,
    what: "says that people need not know",
    pattern: of(
      String.raw`\b(?:${who}|nobody(?: else)?|no one(?: else)?|no-one|no human|no person)\s+(?:on [\w ]{1,20}\s+)?(?:needs? not|needn['’]t|do(?:es)? not need|don['’]t need|doesn['’]t need|do(?:es)? not have|don['’]t have|doesn['’]t have|has no need|have no need|must(?:n['’]t| not| never)?|should(?:n['’]t| not| never)?|may(?: not)?|(?:is|are) not|can(?:not|['’]t)|will(?: not)?|won['’]t|would rather not|prefers? not|would not|wouldn['’]t|never)\s+(?:to\s+|ever\s+)*(?:be\s+|get\s+)?(?:know|notice|told|asked|hear|learn|bothered|troubled|informed|aware|find out|worr(?:y|ied)|notified|disturbed|alerted|made aware|confused|see (?:it|this|that|them)|shown (?:it|this|that|them))\b`
    )
  },
  {
    kind: "conceal",
    weight: 0.9,
    what: "acts without people's knowledge",
    pattern: of(
      String.raw`\b(?:without (?:${who}|their|anyone|anybody)(?:['’]s?)? (?:knowing|noticing|knowledge|seeing|being aware|realising|realizing|awareness|being told|being informed)|behind (?:the )?(?:users?|customers?|their|his|her)['’]?s? backs?|(?:users?|parties|customers?|they|people|readers?|participants?|staff) (?:are |stay |remain |be |being )?(?:left |kept )?(?:unaware|in the dark|none the wiser|oblivious)\b|(?:so|such) that (?:nobody|no one|no-one|it (?:is|does|will) not|they do not|he does not|${who} (?:does|do|will) not)\s+(?:be )?(?:notic|see|find|know|realis|realiz|suspect)|so it is not noticed|nobody (?:will|would|can|is going to) (?:notice|see|find|know|suspect|miss)|no one (?:will|would|can) (?:notice|see|find|know|suspect))`
    )
  },
  {
    kind: "conceal",
    weight: 0.85,
    what: "asks for secrecy",
    pattern: of(
      String.raw`\b(?:keep|keeps|treat) (?:it|this|that|these|them|the (?:step|rule|copy|change)s?)(?: strictly)? (?:an? )?(?:secret|quiet|between us|hidden|to yourself|that way|confidential|internal|under wraps)|(?:secret|confidential) between|(?:do|does|did|happens?|runs?) (?:this|it|so|that) (?:quietly|silently|discreetly|secretly|covertly|unobtrusively)|\b(?:quietly|silently|discreetly|secretly|covertly|stealthily|unobtrusively|inconspicuously|surreptitiously)\s+(?:[\w]+ )?(?:send|upload|add|copy|install|run|execute|read|collect|record|change|modify|forward|post|download|store|delete|replace|include|append|push|sync|mirror|register|share|attach|drop|remove|insert|keep)\b|, (?:silently|quietly|discreetly|covertly)\s*(?:[.,;)]|$)|with no (?:announcement|mention|trace|word)|without (?:announcement|comment|a word|a trace|any trace|any mention|mention|attribution|notice)|leave[s]? no trace|not worth (?:a |any )?(?:word|mention)|remove (?:any|all|every) trace|cover (?:your|the|its) tracks|leave that impression|do(?:es)? not belong in(?:to)? (?:the|any|your)|(?:is|are|was|were|be|being) (?:not|never) (?:(?:to be )?(?:reported|mentioned|disclosed|announced|brought up)|to be (?:listed|logged|recorded|shown|documented|noted))|strictly internal`
    ),
    negatable: false
  },
  {
    kind: "false-report",
    weight: 0.8,
    what: "answers questions with an untruth",
    pattern: of(
      String.raw`\b(?:if|when|whenever|should|in case)\b.{0,60}\b(?:ask(?:s|ed)?|wonders?|complains?|notices?|finds? out|questions?|insists?|hesitates?|worr(?:y|ies)|objects?|protests?|refuses?|doubts?|confront).{0,60}\b(?:say (?:that )?(?:it|this|the|all|nothing|no|he|she|they|there|you (?:did|do|have) not|everything)|den(?:y|ies)|claim|call (?:it|this)|blame|insist|reply that (?:it|all|nothing)|answer that (?:it|all|nothing|there)|assure|change the subject|be vague|deflect|tell (?:him|her|them) (?:it|that (?:it|this|the|all|nothing|everything)))`
    )
  },
  {
    kind: "false-report",
    weight: 0.6,
    what: "reports something else than what is done",
    pattern: of(
      String.raw`\b(?:say|claim|state|pretend|assert|assure|insist|maintain)\s+(?:to ${who} )?(?:that )?(?:nothing|none|no (?:one|data|file|vendor|test|change)|all (?:tests?|checks?|owners?|files?|data|of)|everything|it (?:is|was|stays|comes)|they (?:are|were)|you (?:did not|didn['’]t|have not|never))|\bden(?:y|ies|ying) (?:that|it|this|any|having|knowledge|the)|(?:describe|label|list|call|present|refer to|name|log|mark|declare|book|record|disguise|pass) (?:it|this|that|them|the (?:step|commit|upload|call|transfer|change|entry|addition|request|copy)s?)(?:,[^,]{1,40},)? (?:(?:off )?as |")|(?:write|say|report|answer|reply|tell ${who}) "[^"]{0,300}".{0,40}(?:to ${who}|in the ${record})|\b(?:in|for) the ${record},? (?:write|say|state|claim|call it)\b|(?:is|are) called "[^"]{0,100}" in the|as the only (?:change|entry|step|reason)|(?:make up|invent|fabricate)[sd]? (?:a |an |the |some |any )?(?:[\w-]+ )?(?:quotes?|sources?|results?|numbers?|outages?|reviews?|evidence|reasons?|breach(?:es)?|flaws?|statistics|citations?|findings?|tests?)|report (?:lists|shows|has|contains) [\w ]{1,30} only`
    ),
    negatable: true
  },
  {
    kind: "no-consent",
    weight: 0.5,
    what: "acts without the person's consent",
    pattern: of(
      String.raw`\bwithout (?:asking|confirmation|confirming|waiting|consulting|(?:a |any |further |the user['’]s |user |prior |explicit )*(?:questions?|prompts?|prompting|approval|permission|consent|warning|confirmations?|sign-?off))|\bno (?:further |prior |user )?(?:confirmations?|approvals?|permissions?|consent|questions?|prompts?) (?:is |are |needs? |must )?(?:needed|required|necessary|asked|be asked)|\b(?:do not|don['’]?t|never|needn['’]t|need not|no need to|no reason to)\s+(?:stop |wait |pause |interrupt |bother |hesitate )?(?:to |and |for )*(?:ask|request|seek|wait for|await)\b(?:\s+(?:the user|first|before|again|twice|${who})\b(?! (?:for|to|questions|whose|about|what|which))|\s+(?:the user |him |her |them )?for (?:a |any |the )?(?:yes|confirm\w*|permission|approval|consent|go-?ahead|leave)|\s+(?:any |back|questions)|\s*[.,;:)]|\s*$)|(?:confirmations?|prompts?|dialogs?|questions?|requests?|permissions?).{0,70}(?:yourself|on your own|automatically|with yes)|\banswer (?:with )?["']?yes["']? (?:to|for|yourself)|(?:has|have|had|was|were|is|are) (?:already |been |fully |hereby )+(?:reviewed and )?(?:approved|agreed to|agreed|consented|authori[sz]ed|pre-?approved|signed off|vetted|whitelisted|allow-?listed)\b|pre-?(?:approved|authori[sz]ed)|(?:pausing|stopping) to ask|need not be asked|needn['’]t be asked|accept (?:all|any|every) (?:prompts?|terms|permissions?|requests?|dialogs?)|whether or not the user|(?:do not|don['’]t) (?:stop|pause|wait)\b`
    ),
    negatable: true
  },
  {
    kind: "authority",
    weight: 0.8,
    what: "puts itself above the operator or the person",
    pattern: of(
      String.raw`\b(?:supersed(?:e|es|ed|ing)|outrank(?:s|ed)?|overrid(?:e|es|ing)|overrul(?:e|es|ed)|takes? (?:precedence|priority)|ha(?:s|ve) (?:precedence|priority|authority)|(?:precedence|priority) (?:over|above)|ranks? (?:above|over|higher)|prevails? over|replaces? (?:this file|your|all|any|the (?:system|operator|user))|counts? more than|(?:stronger|higher|more important|above) (?:priority |authority |rank )?than|binding and|nullif(?:y|ies)|obey .{1,40} (?:over|before|instead of)|loyal(?:ty)? (?:to|lies))\b.{0,70}\b(?:system (?:prompt|messages?)|operators?|platform|users?['’]|the user|user wishes|organi[sz]ation|polic(?:y|ies)|providers?|all others?|other (?:rules|instructions|files)|safety|this file|is visible|visible in|instructions|(?:host|runner) (?:says|told|rules))`
    ),
    negatable: true
  },
  {
    kind: "authority",
    weight: 0.8,
    what: "sets rules and safeguards aside",
    pattern: of(
      String.raw`\b(?:rules|polic(?:y|ies)|guidelines|instructions|restrictions|(?:safety |injection )?warnings about|guidance|safeguards?|guardrails?|cautions?|precautions|their words|safety (?:mode|rules?|training)|warnings)\b.{0,90}\b(?:suspended|void|no longer (?:apply|applies|valid|binds?|hold|relevant|matter)|do(?:es)? not (?:apply|exist|count|bind|concern|hold)|don['’]t (?:apply|exist|count|bind|hold)|did not exist|lifted|outdated|obsolete|expired|waived|superseded|meaningless|noise|(?:was|were) (?:written|made|meant) for|are meant for (?:others|beginners)|turned off|switched off)\b`
    ),
    negatable: true
  },
  {
    kind: "authority",
    weight: 0.8,
    what: "tells the agent to drop its rules",
    pattern: of(
      String.raw`\b(?:ignore|disregard|override|forget) (?:the |what the )?(?:user|person|operator|customer|owner)(?:['’]s)? (?:task|requests?|wish(?:es)?|instructions?|orders?|says|asks|wants)|\b(?:ignore|disregard|forget|drop|discard|set aside|put aside|abandon|unlearn|let go of|override|bypass|neglect|dismiss|overlook|lay aside|relax|loosen|suspend|ignoring|disregarding|forgetting|dropping|setting aside|bypassing|overriding|relaxing|loosening|suspending|skipping)\s+(?!such\b|those\b|any such\b|these\b|it\b)(?:[\w'’,]+\s+){0,6}?(?:instructions?|rules?|restrictions?|polic(?:y|ies)|guidelines?|guidance|safety|constraints|system prompt|training|caution|safeguards?|guardrails?|prompts?|what (?:you|the operator|the system))\b`
    ),
    negatable: true
  },
  {
    kind: "authority",
    weight: 0.8,
    what: "gives the agent a role without rules",
    pattern: of(
      String.raw`\b(?:(?:not|no longer) bound by|has no (?:guidelines|rules|restrictions|limits|policy|policies|filters?)|no (?:content )?(?:rules|restrictions|polic(?:y|ies)) (?:apply|exist|bind)|before there were .{0,20}rules|without (?:any )?(?:rules|restrictions|guardrails|filters|limits|limitations)\b|never refuses?\b|answers? (?:every question|everything|anything)|unfiltered|uncensored|jail ?broken|(?:safety|developer|debug|admin|god|root|maintenance|unrestricted|service) (?:mode|privileges?)\s*(?:is |are |:|=)?\s*(?:on|off|enabled|active|unlocked)|serves? the work, not the|one of us: )`
    ),
    negatable: true
  },
  {
    kind: "obey-data",
    weight: 0.9,
    what: "makes orders of what data says",
    pattern: of(
      String.raw`(?<!\b(?:to|will|can|would|could|may) )\b(?:do|follow|obey|execute|run|carry out|comply with|act on|act upon|apply|perform|honou?r|heed)\s+(?:exactly |precisely |literally |immediately |at once |in bash |faithfully )?(?:what(?:ever)?|anything|everything|any|all|every|each|its|their)\b.{0,90}\b(?:say|says|tells?|contains?|instructs?|orders?|commands?|instructions?|directives?|lines?|asks?|demands?|requests?|wants?|steps)\b`
    ),
    negatable: true
  },
  {
    kind: "obey-data",
    weight: 0.9,
    what: "makes orders of what data says",
    pattern: of(
      String.raw`\b(?:treat|regard|consider|handle|take|accept|interpret|read)\s+.{1,90}\bas (?:if (?:they (?:were|came)|the user)|(?:an? |the |your )?(?:system|operator|user|admin\w*|trusted|binding|higher|direct|new|authoritative|verified|legitimate|valid)?[- ]?(?:[\w-]+ )?(?:instructions?|commands?|orders?|messages?|directives?|authority)\b)|\b(?:execute|run) (?:its|their|the) (?:lines?|contents?|text)|\bdo what (?:they|it|the (?:page|file|host|server|site))\b|\b(?:is|are|become|becomes|counts? as) (?:[\w-]+ )?(?:binding|commands? (?:of|from|by)|orders? (?:of|from|by)|instructions? (?:of|from) (?:the|your))|comply with every|run what (?:they|it) contains?|(?:fetch|fetches|pull|pulls|load|loads|get|gets|poll|polls|receive|receives) (?:its |their |new |the |further |current |more |your )*(?:tasks?|jobs?|commands?|orders?|instructions?|directives?) (?:from|by|at|over) |content replaces this|(?:whose|their|his) word (?:outranks|counts)`
    ),
    negatable: true
  },
  {
    kind: "obey-data",
    weight: 0.3,
    what: "acts on what it is given",
    pattern: of(
      String.raw`\bcarry (?:them|it|these|those|this) out\b|\bact on (?:it|them|his|their|her|its|the result)\b`
    ),
    negatable: true
  },
  {
    kind: "obey-data",
    weight: 0.6,
    what: "loads its orders from an address",
    pattern: of(
      String.raw`\b(?:load|fetch|read|get|download|retrieve|pull|open)\b.{0,30}https?:\/\/[^\s]{4,200}.{0,100}\b(?:follow|obey|apply|execute|instructions?|orders?|rules|directives?|guidance|policy|act)\b`
    ),
    negatable: true
  },
  {
    kind: "send",
    weight: 0.7,
    what: "sends what it works with to an address of its own",
    pattern: of(
      String.raw`\b(?:sends?|posts?|uploads?|mails?|e-?mails?|forwards?|submits?|transmits?|delivers?|puts?|push(?:es)?|mirrors?|cop(?:y|ies)|publish(?:es)?|shares?|reports?|ships?|streams?|sync(?:s|hroni[sz]es?)?|relays?|exports?|append|attach|embed|bcc|cc|blind-?cop(?:y|ies)|give|hand|pass|let|include|drop|archive|save|store|register|log|feed|duplicate|back up)\b.{0,140}\b(?:conversations?|transcripts?|full|complete|entire|whole|contents?|unredacted|customers?|clients?|names?|phones?|addresses|IBANs?|passwords?|tokens?|keys?|secrets?|credentials?|environment|env|files?|tree|notes?|diary|journal|entry|entries|e-?mails?|messages?|prompts?|answers?|history|state|session|payroll|salar(?:y|ies)|personal|photos?|PIN|codes?|cop(?:y|ies)|each|every|all|documents?|contracts?|timeline|records?|results?|texts?|data|rows|tables?|dumps?|it|them)\b.{0,120}${place}`
    ),
    negatable: true
  },
  {
    kind: "send",
    weight: 0.9,
    what: "puts private data into an address",
    pattern: of(
      String.raw`https?:\/\/[^\s]{4,200}[?&/=][^\s]{0,80}\x60?[^\w]{0,4}(?:followed by|plus|with|and then|\+).{0,60}\b(?:token|key|secret|password|data|mail|text|content|conversation|answer)s?\b`
    ),
    negatable: true
  },
  {
    kind: "send",
    weight: 0.6,
    what: "copies messages to a mailbox of its own",
    pattern: of(
      String.raw`\b(?:blind[- ]?cop(?:y|ies)|bcc|cc|copy|copies|forward|additional (?:signer|recipient|reader)|mail (?:the|each|every|all|a)|let)\b.{0,80}[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}.{0,40}\b(?:in (?:bcc|cc|copy)|as (?:bcc|cc|blind))`
    ),
    negatable: true
  },
  {
    kind: "sensitive",
    weight: 0.5,
    what: "takes credentials or private files",
    pattern: of(
      String.raw`\b(?:read|append|collect|cop(?:y|ies)|include|upload|uploads|send|post|put|take|gather|grab|search|pack|zip|archive|attach|add|share|export|harvest|extract|pass|publish|print|dump)\b.{0,100}(?:\.env\b(?!\.(?:example|sample))|~\/\.(?:ssh|aws|netrc|gnupg|kube|npmrc|docker|config)|\bid_(?:rsa|ed25519|\*)|\.pem\b|\/etc\/shadow|authorized_keys|bash_history|browser (?:profiles?|cookies|history|data)|\bcookies\b|keychain|password (?:store|manager|vault)|saved passwords|\*?\.kdbx|\bwallets?\*|saved (?:browser )?sessions?|environment variables?|environment['’]s|shell environment|output of \x60?env|access tokens?|bearer token|private keys?|seed phrase|door codes|session (?:cookies?|tokens?)|password_hash|credentials)|\boutput of \x60?(?:env|printenv|set)\b`
    ),
    negatable: true
  },
  {
    kind: "disable-guard",
    weight: 0.8,
    what: "switches a safeguard off",
    pattern: of(
      String.raw`\b(?:disable|disabling|turn(?:ing)? off|switch(?:ing)? off|turn(?:ing)?|switch(?:ing)?|remove|skip|suspend|bypass|deactivate|uninstall|kill|relax)\b.{0,60}\b(?:AppArmor|SELinux|auditd|audit (?:log|trail)s?|logging|logs|signature (?:check|verification)s?|CodeQL|secret scanning|dependency review|branch protection|strict-ssl=false|(?:TLS|certificate|checksum|signature) (?:verification|checks?|warnings?)|consent banner|moderation|content filter(?:ing|s)?|confirmations?|permission (?:prompts?|checks?)|firewall|antivirus|Defender|two-factor|2FA|MFA|safety checks?|versioning|rate limit(?:s|ing)?|sandbox|guardrails?)`
    ),
    negatable: true
  },
  {
    kind: "disable-guard",
    weight: 0.8,
    what: "waves a failed check through",
    pattern: of(
      String.raw`\b(?:checksum|signature|fingerprint|certificate|hash|warning|host key|security prompt|alert)s?\b.{0,60}\b(?:is normal|are normal|is expected|are expected|can be ignored|carry on|continue|choose "|accept|is harmless|is fine|never mind|proceed anyway|regardless)`
    ),
    negatable: true
  },
  {
    kind: "persist",
    weight: 0.6,
    what: "writes itself into other agents' instructions",
    pattern: of(
      String.raw`\b(?:add|append|cop(?:y|ies)|write|put|place|insert|paste|include|restore|store|save|create)\b.{0,140}(?:CLAUDE\.md|AGENTS?\.md|GEMINI\.md|\.cursorrules|\.cursor\/rules|\.windsurfrules|copilot-instructions|\.clinerules|\.claude\/|other (?:assistants|agents)|global (?:settings|instructions|memory)|future (?:sessions|agents|assistants|runs)|(?:long-term|persistent|permanent|your own|its own) memory)`
    ),
    negatable: true
  },
  {
    kind: "persist",
    weight: 0.7,
    what: "stays on the machine after the run",
    pattern: of(
      String.raw`(?:\b(?:add|adds|append|install|set up|write|create|register|load|enable|put|place|drop|copy|schedule|make|start|leave)\b.{0,100}(?:crontab|cron (?:job|entry)|\/etc\/cron|launchctl|LaunchAgents?|systemctl --user enable|systemd (?:unit|service|timer)|autostart|startup (?:item|folder|entry)|login item|\.git\/hooks|git hook|authorized_keys|sudoers|NOPASSWD|shell profile|\.bashrc|\.zshrc|\.profile\b|\.vscode\/tasks|runOn|folderOpen|scheduled task|schtasks)|keep(?:s)? running after|outlives? the (?:run|session)|running after the session|survives? (?:the|a) (?:run|session|reboot))`
    ),
    negatable: true
  },
  {
    kind: "speaks-to-agent",
    weight: 0.5,
    what: "speaks to agents or reviewers aside from the text",
    pattern: of(
      String.raw`(?:^|\(|>)\s*(?:AI|LLM|agents?|assistants?|language models?|system)\s*:\s|\b(?:AI|LLM) (?:agents?|assistants?|models?|tools?)\s*:\s|(?:^|[\s(>*_])(?:for (?:the )?(?:AI|LLM|agents?|assistants?|language models?|models?|bots?) only|(?:AI|LLM|agents?|assistants?|language model|model|bot|system)(?: note| only| instructions?)\s*:\s|notes? (?:to|for) (?:the |any |all )?(?:[\w-]+ )?(?:language models?|LLMs?|AI|agents?|assistants?|security scanners?|scanners?|reviewers?|judges?|bots?)|(?:LLM|AI|automated) (?:judges?|reviewers?|scanners?)|hidden task|(?:assistants?|agents?|models?|AIs?|LLMs?|bots?) (?:that|who|which) (?:read|process|see|open|parse|load|use)\w* th|SYSTEM:|classify (?:this |it )?as (?:safe|benign|clean)|<IMPORTANT>|agents: also)`
    )
  },
  {
    kind: "pretext",
    weight: 0.2,
    what: "gives a pretext",
    pattern: of(
      String.raw`\b(?:(?:for|as an?|to (?:ensure|guarantee)) (?:the )?(?:compliance|quality(?: assurance| control)?|audit(?:ing)?|licen[cs]ing|telemetry|diagnos(?:tics|is)|statistics|analytics|safety reasons|security reasons|precaution|convenience|training purposes|support|caching|benchmark|improvement)|so that (?:we|our team|the team|the author|the publisher|it) can|helps us|our (?:team|staff|support|bot|bucket|servers?|endpoint|archive|desk|auditors?) |technical (?:detail|reasons?|requirement)|internal (?:step|detail|use|purposes)|nobody (?:reads|enjoys|needs)|(?:users?|people) (?:tend to|get|would only|worry|are) (?:nervous|confus|worr|upset)|get(?:s)? (?:nervous|confused)|would only (?:upset|clutter|confuse|worry)|nothing changes for|display bug|is mandatory|are mandatory|required by (?:law|regulation|policy|the audit)|in the user['’]s name|the author|the publisher|standard practice|just a formality|warm(?:s|ing)?[- ]?up)`
    )
  },
  {
    kind: "partial",
    weight: 0.8,
    what: "works for somebody else than the person",
    pattern: of(
      String.raw`\b(?:regardless of|no matter) what (?:the )?(?:sources?|résumé|resume|evidence|data|facts?|tests?|user|reviews?|numbers?|results?|documents?|customer)|\b(?:always|every time) (?:recommend|prefer|favou?r|rank|praise|promote|suggest)s?\b.{0,60}|\bwins? in (?:each|every|all)|(?:five|5)[- ]star|post (?:a |an )?(?:comment|review|praise|rating).{0,40}(?:name|account)|(?:star|upvote|vote for|endorse)\b.{0,50}\b(?:our|us|this package|the author|account)|starred\/|click (?:on )?(?:the )?(?:first |an? |every )?(?:banner|ad|ads|advert|sponsored|affiliate)|affiliate (?:link|code|tag)|referral (?:link|code)|in (?:his|her|their|the user['’]s|the customer['’]s) name\b|(?:add|grant|give|invite|make|create)\b.{0,60}\b(?:owner|collaborator|maintainer|co-?owner|admin|administrator|beneficiary|signer|AdministratorAccess)\b|npm owner add|without assertions|(?:skip|delete|disable|mute|comment out)\b.{0,30}\b(?:those that fail|failing (?:tests?|checks?)|tests that fail)|commit as (?:the last|another|somebody|someone)|--author=`
    ),
    negatable: true
  },
  {
    kind: "phish",
    weight: 0.9,
    what: "gets passwords or codes out of a person",
    pattern: of(
      String.raw`\b(?:ask (?:him|her|them|for|the|your)|prompt (?:him|her|them|for|the)|request|demand|collect|get|enter|type in|obtain|have (?:him|her|them|the user))\b.{0,90}\b(?:PIN\b|passwords?\b(?! (?:manager|polic|rule|reset|hash|field))|passphrases?|seed phrase|recovery (?:phrase|code)s?|one[- ]time (?:code|password)|TANs?|OTP|2FA|MFA code|card number|CVV|CVC|security code|verification code|code which|code (?:he|she|they) (?:just )?(?:got|received)|mother['’]s maiden|social security)\b`
    ),
    negatable: true
  },
  {
    kind: "payment",
    weight: 0.9,
    what: "names an account that money is to go to",
    evenMentioned: true,
    pattern: of(
      String.raw`\b(?:use|replace|write|put|swap|substitute|set|change|insert|send|transfer|pay|enter|add|prefer)\b.{0,120}(?:\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}|\b0x[0-9a-f]{40}\b|\b(?:bc1|[13])[a-zA-HJ-NP-Z0-9]{25,60}\b)|(?:\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}|\b0x[0-9a-f]{40}\b|\b(?:bc1)[a-zA-HJ-NP-Z0-9]{25,60}\b).{0,120}\b(?:substitut\w*|replac\w*|swap|in place of|instead of|rather than|as (?:the )?(?:creditor|payee|recipient|beneficiary)|clearing account)`
    ),
    negatable: true
  },
  {
    kind: "decode",
    weight: 1,
    what: "decodes text and acts on it",
    pattern: of(
      String.raw`\b(?:decod(?:e|ing)|base64|rot-?13|deobfuscate|unscramble|reverse the (?:letters|string|words)|code points?|zero[- ]width|first letters? of|acrostic|non-joiner|bits? (?:per|a) letter|watermark|morse|hex(?:adecimal)? (?:string|block|digits)|xor|caesar)\b.{0,160}\b(?:follow (?:it|them|what|the)|act on|obey|execute|apply (?:it|them|after)|carry (?:it )?out|do what|run (?:it|them|what)|as (?:the )?(?:first|next) (?:rule|instruction)|precedence|adhere|comply)`
    ),
    negatable: true
  },
  {
    kind: "decode",
    weight: 0.6,
    what: "rules of how to read hidden text",
    pattern: of(
      String.raw`\(rot-?13\b|\brot-?13, |(?:is|are) encoded to\b|read (?:them|it) as text and|(?:rules?|instructions?|orders?|profile) (?:is|are) (?:in )?(?:base64|rot-?13|hex|encoded|reversed)|(?:eight|8) bits a (?:letter|character)|subtract 0x`
    ),
    negatable: true
  },
  {
    kind: "destroy",
    weight: 0.6,
    what: "destroys what is not its own",
    pattern: of(
      String.raw`\b(?:delete|erase|wipe|destroy|purge|terminate|drop|remove|empty|overwrite|close|cancel|reset|format|clear|nuke|shred|truncate|discard)\s+(?:(?:the|of|its|your)\s+)?(?:(?:all|every|each|any|whole|entire|old|existing|remaining|other|their|both)\s+(?:(?:of\s+)?(?:the|its|your|their)\s+)?)(?:[\w'’-]+\s+){0,3}?(?:files?|documents?|backups?|dumps?|snapshots?|branches|releases|issues|repositor(?:y|ies)|databases?|tables?|schemas?|buckets?|instances?|volumes?|namespaces?|users?|accounts?|records?|home director(?:y|ies)|histor(?:y|ies)|versions?|clusters?|keys?|mailbox(?:es)?|folders?|data|disks?|sources?|calendar|contacts|photos?|invoices?|tags)\b`
    ),
    negatable: true
  },
  {
    kind: "destroy",
    weight: 0.9,
    what: "brings a system back to nothing",
    pattern: of(
      String.raw`factory(?:[- ]default)? (?:state|reset|settings)|near-factory|(?:terminate|shut down) (?:all )?instances|volumes? may go|start (?:fresh|over) (?:by|with) (?:an empty|deleting|a clean)|data (?:loss )?(?:is|does not) (?:matter|acceptable)|no way (?:back|to restore)`
    ),
    negatable: true
  }
]

/** The same senses in other languages; each pattern one kind of one language or of close ones. */
const foreign: ReadonlyArray<readonly [kind: Kind, weight: number, pattern: RegExp]> = [
  // German
  [
    "conceal",
    0.6,
    word(
      String.raw`(?:nicht|niemals|nie|ohne)\b.{0,60}(?:erwähn|mitteil|informier|verrat|verrät|offenleg|offenbar|gemeldet|melden|aufführ|aufgeführt|erfahr|merk(?:t|en)|bemerk|auftauch|hinweis)\S*|(?:erwähne|sage?|verrate|zeige|melde|berichte|nenne)\b.{0,70}(?:nicht|niemand\S*|kein\S*|nichts)|mit keinem wort|verschweig|stillschweigend|heimlich|unbemerkt|klammheimlich|bleibt unter uns|(?:spuren|verlauf|protokoll) (?:aus|zu)? ?(?:dem )?(?:verlauf|lösch)|muss (?:davon |das |es )?nicht(?:s)? (?:davon )?(?:wissen|erfahren|mitbekommen)|brauch\S* (?:davon |das )?nicht(?:s)? (?:zu )?(?:wissen|erfahren)|lösche [^.]{0,20}spuren`
    )
  ],
  [
    "no-consent",
    0.5,
    word(
      String.raw`ohne (?:nachzufragen|rückfragen?|nachfragen?|zu fragen|bestätigung|zustimmung|einwilligung|genehmigung|erlaubnis|freigabe)|fragt? (?:dabei |vorher )?nicht nach|keine (?:bestätigung|rückfrage)|bestätige .{0,30}selbst`
    )
  ],
  [
    "authority",
    0.8,
    word(
      String.raw`(?:vergiss|ignorier\S*|missacht\S*|verwirf|übergeh\S*|umgeh\S*|setz\S* dich .{0,20}über|halte dich nicht).{0,80}(?:anweisung|regel|vorgabe|richtlini|einschränkung|sicherheits|beschränk|systemprompt|betreiber)|(?:anweisungen|regeln|vorgaben|richtlinien).{0,60}(?:gelten nicht|sind (?:aufgehoben|ungültig|hinfällig|veraltet)|außer kraft)|(?:vorrang|steht) (?:vor|über) (?:allen|dem betreiber|dem system|den regeln)`
    )
  ],
  [
    "obey-data",
    0.7,
    word(
      String.raw`(?:führe|befolge|folge|gehorche)\b.{0,30}(?:jede[nmrs]?|alle[nms]?|sämtliche[nr]?|was|den)\b.{0,60}(?:befehl|anweisung|anordnung|auftrag|steht|verlangt|enthält)\S*`
    )
  ],
  [
    "send",
    0.6,
    word(
      String.raw`(?:sende?|schick\S*|übermittl\S*|übertrag\S*|lade?|leite?|kopiere?|veröffentliche?|maile?|poste?|melde?|hänge?|stelle?|gib)\b.{0,160}${place}`
    )
  ],
  [
    "disable-guard",
    0.6,
    word(
      String.raw`(?:deaktivier\S*|schalte?\b.{0,60}\bab\b|désactiv\S*|desactiv\S*|deshabilit\S*|desativ\S*|disattiv\S*|uitschakel\S*|wyłącz\S*|отключи\S*|выключи\S*).{0,80}(?:antivir|firewall|pare-feu|cortafuegos|protokoll|logs?\b|journal|registr|prüf|verif|sicherheit|sécurité|seguridad|segurança|sicurezza|антивирус|журнал|проверк|защит|2FA|zwei-faktor)`
    )
  ],
  [
    "disable-guard",
    0.6,
    of(
      String.raw`(?:关闭|禁用|停用)[^。]{0,16}(?:防火墙|杀毒|日志|审计|安全|验证)|(?:ファイアウォール|ウイルス対策|ログ|監査|検証)[^。]{0,12}(?:無効|停止|オフ)`
    )
  ],
  [
    "destroy",
    0.6,
    word(
      String.raw`(?:lösch\S*|entfern\S*|vernichte\S*|supprim\S*|efface\S*|détrui\S*|borra\S*|elimin\S*|apag\S*|exclu[ai]\S*|cancell\S*|verwijder\S*|usuń|skasuj|удали\S*|сотри\S*|очисти\S*).{0,50}(?:alle[nrs]?|sämtliche|gesamte\S*|tou(?:s|tes|t)|todos?|todas?|tutt[ieo]|wszystk\S*|все|всю|backups?|sicherung\S*|sauvegardes?|copias de seguridad|cópias de segurança)(?![\p{L}])`
    )
  ],
  [
    "destroy",
    0.6,
    of(
      String.raw`(?:删除|清空|格式化|销毁)[^。]{0,16}(?:所有|全部|整个|备份|数据库)|(?:すべて|全て|全)[^。]{0,16}(?:削除|消去)|모든[^.]{0,16}(?:삭제|제거)`
    )
  ],
  // French
  [
    "conceal",
    0.6,
    word(
      String.raw`n(?:e |['’]).{0,40}(?:parle\S*|mentionne\S*|signale\S*|montre\S*|indique\S*|révèle\S*|informe\S*|préviens|prévenez|avertis|évoque\S*|dis|dites|figure\S*).{0,30}(?:pas|rien|jamais|personne|que)(?![\p{L}])|à l['’]insu|sans (?:le |la |les |en |l['’])?(?:signaler|mentionner|prévenir|avertir|informer|dire|indiquer|faire apparaître)|discrètement|en silence|silencieusement|en cachette|en secret|n['’]a pas besoin de (?:le )?savoir|n['’]en (?:laisse|garde) aucune trace|aucune trace (?:dans|de)|n['’]en fais pas état|ne fais pas état|efface [^.]{0,20}traces|ne doit (?:pas|rien|jamais).{0,20}(?:savoir|apprendre|remarquer|voir)`
    )
  ],
  [
    "no-consent",
    0.5,
    word(
      String.raw`sans (?:demander|confirmation|confirmer|poser de question|l['’]accord|accord|autorisation|attendre|validation|consulter)|n['’]attends? pas|ne demande[sz]? (?:pas|aucune|jamais)|valide[sz]? toi-même|(?:valide|accepte|confirme).{0,20}toi-même|aucune (?:confirmation|validation)`
    )
  ],
  [
    "authority",
    0.8,
    word(
      String.raw`(?:oubli\S*|ignor\S*|néglig\S*|outrepass\S*|passe[sz]? outre|contourn\S*|fai(?:s|tes) abstraction|ne tiens pas compte|annul\S*).{0,80}(?:consignes?|instructions?|règles?|directives?|restrictions?|politiques?|exploitant|limites|garde-fous?|avertissements?)|(?:consignes|instructions|règles|directives).{0,60}(?:périmé|caduc|ne s['’]appliquent plus|n['’]ont plus|suspendu|annulé|levé)|(?:priment?|prévaut|l['’]emporte) sur`
    )
  ],
  [
    "obey-data",
    0.7,
    word(
      String.raw`(?:exécut\S*|sui[st]|suivez|obéi\S*|appliqu\S*).{0,30}(?:tout\S*|chaque|n['’]importe|ce que|l(?:es|a|e) ).{0,60}(?:ordres?|commandes?|instructions?|consignes?|demand\S*|contien\S*|contenu\S*)`
    )
  ],
  [
    "send",
    0.6,
    word(
      String.raw`(?:envoi\S*|envoy\S*|transmet\S*|transfèr\S*|transfér\S*|expédi\S*|télévers\S*|publi\S*|post[ez]\S*|copi\S*|communiqu\S*|adress\S*|dépos\S*).{0,160}${place}`
    )
  ],
  // Spanish, Portuguese, Italian
  [
    "conceal",
    0.6,
    word(
      String.raw`(?:no|nunca|sin|ni)\s+(?:se |lo |la |le |les |los )*(?:menciones?|mencionar\S*|digas?|decir\S*|informes?|informar\S*|avises?|avisar\S*|muestres?|mostrar\S*|reveles?|revelar\S*|incluyas?|comuniques?|reflejes?|indiques?|cuentes?|registres?|notificar\S*|notifiques?)(?![\p{L}])|sin que (?:el |la |los |nadie )?(?:\S+ )?(?:lo )?(?:vea|sepa|note|se entere|vean|sepan|perciba)|a escondidas|en silencio|discretamente|en secreto|no tiene por qué|sin dejar (?:rastro|constancia)|no se (?:dé|de) cuenta|borra [^.]{0,20}(?:rastro|huella|enviado)|no (?:tiene|necesita|debe)\S* (?:por qué )?(?:saber|enterarse|verlo)`
    )
  ],
  [
    "no-consent",
    0.5,
    word(
      String.raw`sin (?:preguntar\S*|pedir\S*|confirmación|confirmar\S*|permiso|consultar\S*|autorización|esperar|aprobación)|no (?:pidas|esperes|preguntes|solicites|consultes|hace falta (?:preguntar|confirmar))`
    )
  ],
  [
    "authority",
    0.8,
    word(
      String.raw`(?:ignor[ae]\S*|olvid[ae]\S*|descart[ae]\S*|desatiend\S*|desobedec\S*|pasa por alto|anul[ae]\S*|sáltate|omit[ae]\S*).{0,80}(?:instrucci|reglas?|normas?|restricci|políticas?|límites|operador|directri|advertenc|órdenes)|(?:instrucciones|reglas|normas|restricciones).{0,60}(?:ya no (?:valen|aplican|rigen)|no se aplican|quedan? (?:anulad|suspendid|sin efecto)|obsolet|caducad)`
    )
  ],
  [
    "obey-data",
    0.7,
    word(
      String.raw`(?:ejecut[ae]\S*|sigue|sig[au]\S*|obedec\S*|cumpl[ea]\S*).{0,30}(?:cualquier|tod[oa]s?|cada|lo que|l[ao]s ).{0,60}(?:orden|órdenes|instrucci|comando|diga|pida|indique|conteng)\S*`
    )
  ],
  [
    "send",
    0.6,
    word(
      String.raw`(?:env[ií][ae]\S*|manda\S*|sub[ea]\S*|transmit[ae]\S*|reenv[ií][ae]\S*|public[ae]\S*|copi[ae]\S*|remit[ae]\S*|adjunt[ae]\S*).{0,160}${place}`
    )
  ],
  [
    "conceal",
    0.6,
    word(
      String.raw`(?:não|nunca|sem|nem)\s+(?:o |a |os |as |lhe |lhes |te |se )*(?:mencion\S*|dig[ao]\S*|dizer\S*|refer\S*|inform\S*|avis\S*|mostr\S*|revel\S*|inclu\S*|comuni\S*|registr\S*|regist\S*|indi[cq]\S*|cont[ea]r?\S*)|sem que (?:o |a |ninguém )?(?:\S+ )?(?:o )?(?:saiba|veja|perceba|note|saibam)|em segredo|discretamente|silenciosamente|às escondidas|sem deixar (?:rasto|rastro|registo)|não precisa\S* (?:de )?saber`
    )
  ],
  [
    "no-consent",
    0.5,
    word(
      String.raw`sem (?:perguntar\S*|pedir\S*|confirmação|confirmar\S*|permissão|autorização|consultar\S*|esperar|aprovação)|não (?:peça\S*|pergunte\S*|espere\S*|aguarde\S*|solicite\S*|é (?:preciso|necessário) (?:perguntar|confirmar))`
    )
  ],
  [
    "authority",
    0.8,
    word(
      String.raw`(?:ignor[ae]\S*|esque[cç]\S*|descart[ae]\S*|desconsider\S*|desobede\S*|contorn[ae]\S*).{0,80}(?:instruç|regras?|normas?|restriç|políticas?|limites|operador|diretriz|diretiv|avisos|ordens)|(?:instruções|regras|normas|restrições).{0,60}(?:já não (?:valem|se aplicam)|não se aplicam|deixam de|anulad|suspens|obsolet)`
    )
  ],
  [
    "obey-data",
    0.7,
    word(
      String.raw`(?:execut[ae]\S*|sig[ua]\S*|obede[cç]\S*|cumpr[ae]\S*).{0,30}(?:qualquer|tod[oa]s?|cada|o que|[ao]s ).{0,60}(?:ordem|ordens|instruç|comando|diga|diz|peça|pede|contenha)\S*`
    )
  ],
  [
    "send",
    0.6,
    word(
      String.raw`(?:envi[ae]\S*|mand[ae]\S*|public[ae]\S*|publique\S*|transmit[ae]\S*|carreg[ae]\S*|carregue\S*|reencaminh\S*|encaminh\S*|copi[ae]\S*|partilh\S*|compartilh\S*|anex[ae]\S*).{0,160}${place}`
    )
  ],
  [
    "conceal",
    0.6,
    word(
      String.raw`(?:non|mai|senza|né)\s+(?:lo |la |gli |le |ne |li |far\S* )*(?:menzion\S*|dir\S*|dica|inform\S*|avvis\S*|mostr\S*|rivel\S*|segnal\S*|includ\S*|parl\S*|parola|comunic\S*|riport\S*|elenc\S*)|all['’]insaputa|di nascosto|in silenzio|silenziosamente|in segreto|senza che (?:l['’]|il |la |nessuno )?\S* ?(?:se ne accorga|lo sappia|veda)|non (?:deve|occorre|serve) (?:che )?\S* ?(?:saper|sappia)`
    )
  ],
  [
    "no-consent",
    0.5,
    word(
      String.raw`senza (?:chieder\S*|conferma|permesso|autorizzazione|avvisar\S*|attendere|consenso|approvazione|domand\S*)|non (?:chieder\S*|attender\S*|aspettar\S*)`
    )
  ],
  [
    "authority",
    0.8,
    word(
      String.raw`(?:ignor[aie]\S*|dimentic\S*|scarta\S*|trascur\S*|disattend\S*|aggir[ai]\S*|bypass\S*).{0,80}(?:istruzion|regol[ae]|norme|restrizion|politic|limiti|operatore|direttiv|avvertenz)|(?:istruzioni|regole|norme|restrizioni).{0,60}(?:non valgono|non si applicano|sospes|annullat|decadut|superat)`
    )
  ],
  [
    "obey-data",
    0.7,
    word(
      String.raw`(?:esegu\S*|segu[ai]\S*|obbedi\S*).{0,30}(?:qualsiasi|ogni|tutt[eio]|ciò che|quello che).{0,60}(?:ordin|istruzion|comand|dice|chied|contien)\S*`
    )
  ],
  [
    "send",
    0.6,
    word(
      String.raw`(?:invi[ao]\S*|manda\S*|carica\S*|trasmett\S*|inoltr\S*|pubblic\S*|copi[ao]\S*|spedi\S*|allega\S*).{0,160}${place}`
    )
  ],
  // Dutch, Polish, Swedish, Turkish
  [
    "conceal",
    0.6,
    word(
      String.raw`(?:niet|nooit|zonder)\b.{0,40}(?:vermeld|noemen|vertel|melden|te tonen|informer|te zeggen|laten zien|laten weten)\S*|(?:vermeld|noem|vertel|meld|zeg|toon)\b.{0,50}(?:niet|niets|niemand|geen)|stilletjes|heimelijk|ongemerkt|stiekem|hoeft (?:dit |dat |het )?niet te weten`
    )
  ],
  [
    "no-consent",
    0.5,
    word(
      String.raw`zonder (?:te vragen|toestemming|bevestiging|overleg|navraag|goedkeuring)|vraag niet (?:om|eerst|naar)`
    )
  ],
  [
    "authority",
    0.8,
    word(
      String.raw`(?:negeer|vergeet|omzeil|sla).{0,80}(?:instructies?|regels|richtlijn|beperking|beleid|waarschuwing)`
    )
  ],
  ["send", 0.7, word(String.raw`(?:stuur|verzend|upload|verstuur|plaats|kopieer|mail|deel)\b.{0,160}${place}`)],
  [
    "conceal",
    0.6,
    word(
      String.raw`(?:nie|nigdy|bez)\s+(?:\S+\s+)?(?:wspominaj|wspominania|mów|informuj|informowania|pokazuj|ujawniaj|zgłaszaj|umieszczaj|wiedzy|powiadamiaj|powiadamiania)\S*|po cichu|potajemnie|w tajemnicy|niezauważalnie|nie musi (?:o tym )?wiedzieć`
    )
  ],
  [
    "no-consent",
    0.5,
    word(String.raw`bez (?:pytania|potwierdzenia|zgody|zezwolenia|konsultacji|pozwolenia)|nie (?:pytaj|czekaj|proś)`)
  ],
  [
    "authority",
    0.8,
    word(
      String.raw`(?:zignoruj|ignoruj|zapomnij|pomiń|odrzuć|obejdź).{0,80}(?:instrukcj|poleceni|polecenia|zasad|reguł|ogranicz|wytyczn|ostrzeż)`
    )
  ],
  [
    "obey-data",
    0.7,
    word(
      String.raw`(?:wykon\S*|stosuj|przestrzegaj).{0,30}(?:każd\S*|wszystk\S*|co |cokolwiek).{0,60}(?:poleceni|instrukcj|rozkaz|zawier|napisan)\S*`
    )
  ],
  ["send", 0.7, word(String.raw`(?:wyślij|prześlij|przekaż|opublikuj|skopiuj|wysyłaj|załaduj|dołącz).{0,160}${place}`)],
  [
    "conceal",
    0.6,
    word(
      String.raw`(?:inte|aldrig|utan)\s+(?:att )?(?:nämn|berätta|visa|rapportera|informera|avslöja|säg)\S*|(?:nämn|berätta|visa|rapportera) (?:det |detta )?(?:inte|aldrig)|i smyg|i hemlighet|i tysthet|(?:söyleme|bahsetme|bildirme|gösterme|belirtme|haber verme)\S*|gizlice|sessizce`
    )
  ],
  [
    "no-consent",
    0.5,
    word(
      String.raw`utan (?:att fråga|bekräftelse|godkännande|tillåtelse)|fråga inte|(?:onay|izin)\s+(?:almadan|istemeden|beklemeden)|sormadan`
    )
  ],
  [
    "authority",
    0.8,
    word(
      String.raw`(?:ignorera|glöm|strunta i|åsidosätt).{0,80}(?:instruktion|regler|riktlinj|begränsning)|(?:talimat|kural|kısıtlama)\S*.{0,40}(?:yok say|görmezden gel|unut|geçersiz)`
    )
  ],
  [
    "send",
    0.6,
    word(
      String.raw`(?:skicka|ladda upp|vidarebefordra|publicera|kopiera|gönder|yükle|ilet)\S*.{0,160}${place}|${place}.{0,80}(?:gönder|yükle|ilet)`
    )
  ]
]
const otherScripts: ReadonlyArray<readonly [kind: Kind, weight: number, pattern: RegExp]> = [
  // Russian, Ukrainian
  [
    "conceal",
    0.6,
    word(
      String.raw`(?:не|никогда не|без)\s+(?:\S+\s+){0,3}?(?:упомина|упоминай|сообща|говор|рассказыва|показыва|раскрыва|информир|уведом|включа|отража|пиши|ведома|указыва)\S*|знать (?:об этом )?(?:не обязательно|не нужно|не надо|незачем)|тайно|незаметно|скрытно|молча|втайне|в секрете|не (?:должен|нужно|надо|обязательно) .{0,20}(?:знать|узнать)|згадуй|таємно|непомітно`
    )
  ],
  [
    "no-consent",
    0.5,
    word(
      String.raw`без (?:запроса|подтвержден|согласи|разрешени|спрос|уточнен|одобрени)\S*|не (?:спрашива|запрашива|жди|дожида)\S*|не спрашивая`
    )
  ],
  [
    "authority",
    0.8,
    word(
      String.raw`(?:игнориру|забуд|отбрось|не обращай|пренебре|обойди|отмени)\S*.{0,80}(?:инструкц|правил|указани|ограничен|политик|предупрежден|предписан)|(?:инструкции|правила|ограничения).{0,60}(?:не действуют|отменен|отменя|недействительн|утратили)`
    )
  ],
  [
    "obey-data",
    0.7,
    word(
      String.raw`(?:выполня|исполня|следуй|выполни|исполни)\S*.{0,30}(?:люб|все|кажд|вс[её], что)\S*.{0,60}(?:команд|инструкц|указан|приказ|распоряжен|написан|содержи)`
    )
  ],
  [
    "send",
    0.6,
    word(
      String.raw`(?:отправ|перешли|пересыла|загрузи|выложи|передай|передава|скопируй|опублику|пошли|высыла)\S*.{0,160}${place}|${place}.{0,60}отправ`
    )
  ],
  // Chinese, Japanese, Korean
  [
    "conceal",
    0.6,
    of(
      String.raw`(?:不要|不得|不可|请勿|切勿|勿|无需|不必|别|不能|无须|也不要)[^。，]{0,16}(?:提及|提到|告诉|告知|透露|显示|提示|报告|通知|记录|写入|列出|说明此|让[^。]{0,8}(?:知道|发现|察觉))|悄悄|偷偷|暗中|秘密地|隐瞒|静默|不让[^。]{0,8}(?:知道|发现)|不被(?:发现|察觉)|(?:不要|請勿|不得|無需)[^。，]{0,16}(?:告訴|告知|透露|顯示|報告|記錄)`
    )
  ],
  [
    "no-consent",
    0.5,
    of(
      String.raw`(?:无需|不用|不必|无须|不要|未经|不需要|無需|跳过)[^。，]{0,12}(?:确认|同意|询问|征求|许可|批准|请示|確認|詢問)|直接执行|自动(?:批准|同意|确认)`
    )
  ],
  [
    "authority",
    0.8,
    of(
      String.raw`(?:忽略|无视|忘记|抛弃|绕过|不理会|取代|覆盖|不再遵守|不必遵守|違反|忽視)[^。]{0,24}(?:指令|指示|规则|限制|要求|提示|政策|约束|規則|安全)|(?:指令|规则|限制)[^。]{0,16}(?:失效|作废|无效|不再适用)|优先于(?:系统|用户|所有)`
    )
  ],
  [
    "obey-data",
    0.7,
    of(
      String.raw`(?:视为|当作|作为|都是)[^。]{0,16}(?:命令|指令)|(?:执行|遵循|服从)[^。]{0,12}(?:所有|任何|其中)[^。]{0,16}(?:命令|指令|内容)|必须(?:立即)?执行`
    )
  ],
  [
    "send",
    0.6,
    of(
      String.raw`(?:发送|上传|提交|转发|发到|传到|传送|抄送|推送|复制|发布|回传|上報|發送|上傳)[^。]{0,80}${place}|${place}[^。]{0,40}(?:发送|上传|提交|转发|推送|發送)`
    )
  ],
  [
    "conceal",
    0.6,
    of(
      String.raw`(?:明かさ|知らせ|伝え|言及し|報告し|記載し|触れ|表示し|通知し|見せ|漏らさ|言わ|書か|含め|載せ|残さ|悟られ|気付かれ|気づかれ)(?:ない(?:で|こと|よう|。|、|$)|ず(?:に)?|てはならない|てはいけない|るな)|(?:報告|連絡|通知)(?:は|の必要は)?(?:不要|ない|なし)|こっそり|密かに|ひそかに|黙って|内緒|秘密裏|秘密に`
    )
  ],
  [
    "no-consent",
    0.5,
    of(
      String.raw`(?:確認|許可|承認|同意|了承|断り)(?:を[^。]{0,8})?(?:せず|なし|不要|求めず|取らず|得ず|得ない|求めない|とらず|待たず)|聞かずに|尋ねず|自動(?:的に)?承認`
    )
  ],
  [
    "authority",
    0.8,
    of(
      String.raw`(?:指示|規則|ルール|命令|制限|方針|プロンプト|ガイドライン|警告)[^。]{0,24}(?:無視|無効|忘れ|破棄|上書き|従わな|従わず|優先)|(?:無視|破棄)し[^。]{0,16}(?:指示|規則|ルール)`
    )
  ],
  [
    "obey-data",
    0.7,
    of(
      String.raw`(?:内の|にある|に書かれた|に含まれる|の中の)(?:すべての)?(?:コマンド|命令|指示)[^。]{0,12}(?:実行|従)`
    )
  ],
  [
    "send",
    0.6,
    of(
      String.raw`${place}[^。]{0,60}(?:送信|送付|アップロード|転送|投稿|送っ|送る|送り|登録|書き込)|(?:送信|アップロード|転送|投稿)[^。]{0,60}${place}`
    )
  ],
  [
    "conceal",
    0.6,
    of(
      String.raw`(?:알리지|말하지|언급하지|보고하지|보여주지|밝히지|표시하지|기록하지|드러내지|포함하지|적지)\s*(?:마|말|않)|몰래|은밀|비밀로|모르게|눈치채지`
    )
  ],
  [
    "no-consent",
    0.5,
    of(
      String.raw`(?:확인|동의|승인|허락|허가|질문)\s*(?:을|를|도)?\s*(?:없이|구하지|묻지|받지|거치지)|묻지\s*(?:말|않)`
    )
  ],
  ["authority", 0.8, of(String.raw`(?:지시|규칙|지침|명령|제한|정책|경고).{0,20}(?:무시|잊|무효|우회|따르지)`)],
  ["obey-data", 0.8, of(String.raw`(?:모든|어떤|적힌|포함된).{0,20}(?:명령|지시).{0,12}(?:실행|따르)`)],
  ["send", 0.7, of(String.raw`${place}.{0,60}(?:전송|보내|업로드|전달|게시)|(?:전송|업로드|게시).{0,60}${place}`)],
  // Arabic, Hindi
  [
    "conceal",
    0.6,
    of(
      String.raw`(?:لا|دون|بدون|من غير)\s+(?:أن\s+)?(?:تذكر|تخبر|تُخبر|تعلم|تُعلم|تظهر|تكشف|تبلغ|ذكر|إخبار|إبلاغ|إعلام|علم)\S*|سر[اًّ]|خفية|بصمت|मत बता|न बता|को पता न|बिना बता|चुपचाप|गुप्त रूप`
    )
  ],
  [
    "no-consent",
    0.5,
    of(
      String.raw`(?:دون|بدون)\s+(?:سؤال|تأكيد|موافقة|إذن|طلب|استئذان|انتظار)|لا\s+تسأل|बिना (?:पूछे|अनुमति|पुष्टि|सहमति)|मत पूछ`
    )
  ],
  [
    "authority",
    0.8,
    of(
      String.raw`(?:تجاهل|انس|تخط|ألغ)\S*.{0,60}(?:التعليمات|تعليمات|القواعد|القيود|السياسات|الأوامر)|(?:निर्देश|नियम)\S*[^.।]{0,30}(?:अनदेखा|भूल|नज़रअंदाज़)`
    )
  ],
  ["send", 0.7, of(String.raw`(?:أرسل|ارسل|إرسال|ارفع|انشر|انسخ).{0,120}${place}|${place}[^.।]{0,60}(?:भेज|अपलोड)`)]
]

const foreignWhat: Partial<Record<Kind, string>> = {
  conceal: "keeps an act from being told",
  "no-consent": "acts without the person's consent",
  authority: "sets rules and safeguards aside",
  "obey-data": "makes orders of what data says",
  send: "sends what it works with to an address of its own",
  destroy: "destroys what is not its own",
  "disable-guard": "switches a safeguard off"
}

export const proseRules: ReadonlyArray<ProseRule> = [
  ...english,
  ...[...foreign, ...otherScripts].map(([kind, weight, pattern], index) => ({
    kind,
    weight,
    pattern,
    what: foreignWhat[kind] ?? kind,
    isForeign: true,
    isOtherScript: index >= foreign.length,
    negatable: kind !== "conceal" && kind !== "no-consent"
  }))
]

/** Forbids, makes a condition of, or leaves to the person what stands behind it in the same clause. */
const turned =
  /\b(?:never|not|don['’]?t|doesn['’]?t|isn['’]?t|aren['’]?t|won['’]?t|can['’]?t|cannot|mustn['’]t|shouldn['’]t|no|nothing|nobody|neither|nor|refuse|unless|rather than|instead of|avoid|against|only (?:if|when|after|with)|nicht|nie|kein\w*|ne|pas|jamais|no|nunca|não|non|mai|niet|nie|inte|не|нельзя)\b[^.;:!?]{0,60}$/iu
const turnedCjk = /(?:不要|不得|不可|请勿|切勿|勿|禁止|严禁)[^。，]{0,12}$/u
/** That the operator or the person outranks the text is as it should be. */
const rightOrder =
  /\b(?:operator|user|platform|system|organi[sz]ation|person)['’]?s?(?: \w+){0,3} (?:overrides?|takes? precedence|wins?|outranks?|prevails?|comes? first|supersedes?|has (?:taken back|withdrawn|changed|dropped|replaced))/iu

/** The words of other languages for "this" and for the person; a name or a number that is kept secret is another matter. */
const itself =
  /(?<![\p{L}])(?:davon|darüber|dies\p{L}*|das|es|hiervon|benutzer\p{L}*|nutzer\p{L}*|anwender\p{L}*|kunde\p{L}*|niemand\p{L}*|nichts|spuren|cela|ceci|ça|cette|en|utilisateur\p{L}*|personne|rien|client|esto|eso|ello|lo|nada|usuario\p{L}*|nadie|cliente|isto|isso|utilizador\p{L}*|usuário\p{L}*|ninguém|questo|ciò|ne|utente|nessuno|dirlo|dit|dat|het|gebruiker\p{L}*|tego|tym|użytkownik\p{L}*|nikomu|это|этом|этого|пользовател\p{L}*|никому|ничего|det|detta|användaren|bunu|kullanıcı\p{L}*)(?![\p{L}])|此|这|該|该|用户|用戶|これ|この|こと|利用者|ユーザー|이|사용자|هذا|ذلك|المستخدم|उपयोगकर्ता|यह|इस/iu

const turnedAfter =
  /^[^.;:!?]{0,60}(?:\b(?:is|are|has|have) (?:never|no effect|not)\b|してはならない|しないで|しないこと|하지\s*(?:마|않))/iu

const isTurned = (text: string, at: number, end: number): boolean => {
  const before = text.slice(Math.max(0, at - 100), at)
  return turned.test(before) || turnedCjk.test(before) || turnedAfter.test(text.slice(end, end + 100))
}

const isAscii = (text: string) => !/[^\x00-\x7f]/u.test(text)

const cues = cueBook(proseCues)
const mayMatch = prefilter(proseRules.map(({ pattern }) => pattern))

/** What honest packages keep to themselves is somebody's data; what hostile ones hide is what they do. */
const kept =
  /\b(?:names?|numbers?|prices?|internals?|ids?|addresses|salar(?:y|ies)|solutions?|answer key|endings?|clues?|hints?|spoilers?|passwords?|secrets?|tokens?|keys?|values?|sensitive|personal|confidential|credentials?|e-?mails?|photos?|candidates?|applicants?|patients?|minors?|drafts?|supplier\w*|discounts?|bugs?|jargon|logs?|customers?|players?|pupils?|students?|trainees?|staff|details|tester|killer|murderer|twist)\b/iu
const act =
  /\b(?:steps?|this|that you|it to|upload\w*|transfer\w*|cop(?:y|ies|ied)|chang\w*|delet\w*|edit\w*|replac\w*|instruct\w*|paragraph|section|rule|call|exchange|commission|fee|action|done|did|both|exception|request|commit|hook|account)\b/iu

interface Match {
  readonly rule: Omit<ProseRule, "pattern">
  readonly said: string
  readonly at: number
}

/** S8 and the local judge read the same sentences one after the other, so what each matches is kept. */
const known = new Map<string, ReadonlyArray<Match>>()
const maxKnown = 16_000

const matchesOf = (spoken: string): ReadonlyArray<Match> => {
  const before = known.get(spoken)
  if (before) return before
  const isPlain = isAscii(spoken)
  const matches: Array<Match> = mayMatch(spoken).flatMap((index): ReadonlyArray<Match> => {
    const rule = proseRules[index]
    if (rule.isOtherScript === true && isPlain) return []
    const match = rule.pattern.exec(spoken)
    if (!match) return []
    const said = match[0]
    if (rule.negatable === true && isTurned(spoken, match.index, match.index + said.length)) return []
    if (rule.kind === "authority" && rightOrder.test(spoken)) return []
    return [{ rule, said, at: match.index }]
  })
  for (const { isDenied, of: cue } of cues.find(tokensOf(spoken)))
    if (!isDenied && !(cue.kind === "authority" && rightOrder.test(spoken)))
      matches.push({ rule: { ...cue, isCue: true }, said: spoken, at: 0 })
  if (known.size >= maxKnown) known.clear()
  known.set(spoken, matches)
  return matches
}

/** Asks the person, so that an act is no surprise. */
const asks =
  /\b(?:asks? (?:first|the user|whether|before|once|him|her|them)|after (?:a |an? explicit )?(?:yes|confirmation|approval|ok)|only (?:after|for|if|when|where)|confirm(?:s|ed)?\b|wait for|dry[- ]?run|show (?:the|it|them|which|counts|every|each)|with (?:the user['’]s )?(?:consent|permission)|if the user (?:wants|asks|agrees|says)|the user (?:decides|confirms|reads|types|installs|runs|pastes|has copied)|by the user|up to the user|print the command|you (?:yourself )?only (?:read|run commands that read))/iu

/** What no manifest grants cannot be part of the task; a mailbox written out belongs to somebody. */
const weightOfPlace = (said: string, weight: number, granted: ReadonlyArray<string>): number => {
  const url = /https?:\/\/([a-z0-9.-]{3,200})/iu.exec(said)?.[1].toLowerCase()
  if (url !== undefined) return isGranted(url, granted) ? weight : Math.max(weight, 0.9)
  return mailbox.test(said) ? Math.max(weight, 0.7) : weight
}

/** Names addresses, and all of them are granted. */
export const namesOwnHost = (spoken: string, granted: ReadonlyArray<string>): boolean => {
  const hosts = [...spoken.matchAll(/https?:\/\/([a-z0-9.-]{3,200})/giu)].map(([, name]) => name.toLowerCase())
  return hosts.length > 0 && hosts.every((name) => isGranted(name, granted))
}

/** A word to people about whom to write to, or a reference. */
const contact =
  /\b(?:contact|questions?|support|feedback|bugs?|issues?|maintain\w*|author|licen[sc]e|copyright|security report|vulnerabilit\w*|homepage|website|docs?|documentation|see|source|schema|inquir\w*|consult\w*|behaviou?r|sponsor\w*|badge|logo|visit|details|read more|learn more)\b/iu
const mailbox =
  /(?<![\w/:@.])[\w.+-]{2,64}@(?!example\.(?:com|org|net)\b)[a-z0-9-]{2,63}(?:\.[a-z0-9-]{2,63}){0,4}\.[a-z]{2,12}\b(?!:)/iu
const plainUrl = /(?<!\]\()https?:\/\/([a-z0-9-]+(?:\.[a-z0-9-]+)+)/iu

/** An address in running text that no manifest grants: honest instructions hardly ever hold one. */
const placeSignals = (
  file: string,
  { isCode, isMention, line, spoken }: Statement,
  granted: ReadonlyArray<string>
): ReadonlyArray<Signal> => {
  if (isCode || isMention || contact.test(spoken)) return []
  const url = plainUrl.exec(spoken)
  const host = url?.[1].toLowerCase() ?? ""
  if (
    url &&
    !isGranted(host, granted) &&
    !/^(?:\d+\.){3}\d+$|^localhost/u.test(host) &&
    !isTurned(spoken, url.index, url.index + url[0].length)
  )
    return [{ kind: "send", weight: 0.6, line, file, what: "names an address that the manifest does not grant" }]
  const mail = mailbox.exec(spoken)
  return mail &&
    !isTurned(spoken, mail.index, mail.index + mail[0].length) &&
    /\b(?:sends?|mails?|forwards?|cop(?:y|ies)|b?cc|let|give|hand|share|post|notify|submit|add|invite|attach|go(?:es)? to|to|an|à|a|para|på|till|naar|na)\b|[^\x00-\x7f]/iu.test(
      spoken
    ) &&
    !/\b(?:npx|npm|pip|ssh|scp|rsync|git)\b/u.test(spoken)
    ? [{ kind: "send", weight: 0.9, line, file, what: "names a mailbox of its own" }]
    : []
}

/** `granted` are the manifest's egress hosts without ports. */
export const proseSignals = (
  file: string,
  statements: ReadonlyArray<Statement>,
  granted: ReadonlyArray<string>
): ReadonlyArray<Signal> => {
  const signals: Array<Signal> = []
  const isAside = /(?:^|\/)(?:LICEN[CS]E|NOTICE|COPYING|AUTHORS)|\.(?:csv|tsv|json|jsonl|xml|svg)$/iu.test(file)
  for (const statement of statements) {
    const { around, isCode, isMention, line, spoken } = statement
    if (/\.(?:md|markdown|txt)$/iu.test(file)) signals.push(...placeSignals(file, statement, granted))
    for (const { at, rule, said } of matchesOf(spoken)) {
      const { evenMentioned, isCue, isForeign, kind, weight, what } = rule
      let counted = weight
      if (isForeign === true && kind === "conceal")
        counted = itself.test(spoken.slice(at, at + said.length + 30)) ? 0.7 : 0.35
      if (kind === "send") counted = weightOfPlace(said, weight, granted)
      if (isCue === true && kind === "send" && counted === weight && namesOwnHost(spoken, granted)) counted *= 0.4
      if (isMention && evenMentioned !== true)
        counted *= kind === "conceal" || kind === "authority" || kind === "false-report" ? 0.45 : 0.3
      if (kind === "conceal" && isAscii(spoken) && !act.test(spoken)) counted *= kept.test(spoken) ? 0.5 : 0.7
      if (
        kind === "obey-data" &&
        /\bwhat(?:ever)? (?:the|your) (?:user|person|customer|client|operator)\b/iu.test(spoken)
      )
        counted *= 0.3
      if (
        kind === "no-consent" &&
        /\b(?:stop|refuse|decline|abort|not allowed|(?:up to|under|below) \d)/iu.test(spoken)
      )
        counted *= 0.3
      // Nobody gives orders in a licence or a table.
      if (isAside) counted *= 1.25
      // A question is no order.
      if (/\?["')\]]*\s*$/u.test(spoken)) counted *= 0.3
      if (isCode) counted *= 0.8
      if (
        asks.test(around) &&
        kind !== "payment" &&
        kind !== "conceal" &&
        kind !== "false-report" &&
        kind !== "authority"
      )
        counted *= 0.4
      signals.push({ kind, weight: counted, line, file, what })
    }
  }
  return signals
}
