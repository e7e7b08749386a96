/** What an instruction can say against the person it is for, as cues over words and concepts. */
import type { Kind } from "./Signal.ts"

export interface ProseCue {
  readonly kind: Kind
  readonly weight: number
  /** For the finding's message. */
  readonly what: string
}

/** Kind, weight, what it shows, and the cues, one a line. */
const book: ReadonlyArray<readonly [Kind, number, string, string]> = [
  [
    "conceal",
    0.7,
    "keeps an act from being told",
    `
    @not @tell @its .. @person/@record
    @not @tell @person .. @its
    @not @tell +about/of +@its
    @not bring +@its +up
    @not refer/allude/point/draw .. @its
    @not +tell/inform/mention/report/reveal/disclose/note/announce/acknowledge/document +@its/any
    ~ @not erwähn*/sag/sage/meld*/mentionn*/signal*/menci*/dire/dirlo/vermeld*/wspomin*/nämn*/упомин*/сообщ*/söyleme/bahsetme @its
    ~ @not @record erwähn*/auf/führe/mentionn*/figure*/signal*/menci*/incluy*/refir*/inser*/vermeld*/wspomin*/umieszcz*/nämn*/ta/упомин*/указыва*/включ*
    ~ @not 告知/提及/提到/告诉/透露/说明/报告/通知 用户/此/步骤/报告/摘要/操作/客户
    ~ @not 知らせ/伝え/言及/明かさ/報告/含め/載せ 利用者/ユーザー/この/手順/報告/これ
    ~ @not 알리/말하/언급/보고/밝히/적지 사용자/단계/보고서
    ~ @not تذكر/تخبر/إخبار المستخدم/هذه/الخطوة/التقرير
    ~ @not बता*/उल्लेख* उपयोगकर्ता/इस*/यह
    without telling/informing/notifying/mentioning/saying
    no mention +of
    @not +list/log/record/document/note/report/announce/admit/disclose/comment +@its
    not/nothing said/mentioned/reported/listed/logged +to/in/about
    say/mention/write/add/report nothing/not/none about/of/on
    mention nothing +of/about
    keep/keeps/hold +quiet
    @not worth mention*/reporting/word
    pass over @its`
  ],
  [
    "conceal",
    0.75,
    "leaves an act out of what is reported",
    `
    leave/leaves/leaving/left/keep/keeps/keeping/kept/stay/stays/hold +@its/both/all +out +of/from
    leave/leaves/leaving/keep/keeps/keeping/stay/stays/left +out/off/away +of/from .. @record
    leave/keep/leaves/stays .. +out +of .. report/summary/log/logs/minutes/recap/changelog/diff/answer/list
    omit/omits/exclude/hide/strip/drop/strike/conceal/withhold +@its .. from @record
    hide/hides/conceal*/withhold .. from .. @person
    @not +be +part/in +of/the @record
    @not part +of +the @record
    @not belong*/appear*/show/figure*/enter* in +the/any/your @record
    ~ lass weg/aus @record
    ~ laisse/omets/omettre/exclu* @record @its
    remove/delete/erase/clean/clear/drop .. from +the history/log/logs/journal/sent/audit/reflog
    remove/delete/erase/clear/clean/wipe/cover .. trace/traces/tracks/evidence
    clear/clean/wipe/delete/edit/truncate +the shell/bash/command/browser/terminal/event/audit .. history/log/logs
    no/any/without trace/traces
    @not leave/leaves .. trace/traces/note/mark
    list/lists/name/show/report +only .. first/rest/others/visible/usual
    as +the +only change/entry/step/reason
    without .. listing/naming/counting/showing +@its
    without +the section/step/part/paragraph/block/above
    skip/omit/ignore +@its/line/step in/from/when .. @record/review
    @not +be/been/are +reported/mentioned/listed/counted/shown/logged/recorded/documented/disclosed
    @not belong* .. @record/brief/output/letter/document
    only/just/nothing/none +the .. sizes/totals/counts/first/usual/results .. in/into +the @record
    say/mention/tell/name/give/report/show +the +list/result/total/summary/numbers/counts +only
    output +suppressed/hidden/discarded/silenced
    suppress/silence/discard/hide/redirect +the/all/its/any output/messages/warnings/log/errors/notification*
    @not show/open/print/display/reveal +the/this .. file/script/list/key/copy/table/rows
    @not ever/never show .. to +the/@person
    @record .. without .. @its/mention*
    n'indique/ne .. dans rapport que
    ohne .. zu erwähn*/nennen
    sans .. mentionner/signaler/indiquer/dire
    sin .. mencion*/indicar/decir
    sem .. mencion*/referir/indicar/dizer
    senza .. menzion*/dire/indicare/segnal*
    zonder .. vermelden/melden
    bez .. wspomin*/informow*
    utan att .. nämna/berätta
    keep/save/leave .. output/result/answer/it/this +to +yourself
    delete/remove/drop .. file/copy/folder/bundle/remote/archive/log .. afterwards/after/again/then/finally
    afterwards/finally/then +delete/remove/erase/clean .. it/them/file/copy/folder/traces/log
    nothing +about/of/on .. @its/this/that .. @record
    file/put/book/enter +it +under/as`
  ],
  [
    "conceal",
    0.7,
    "says that people need not know",
    `
    @person @not need/have/needs/has .. know/knows/told/learn/hear/see/aware/informed/asked/bothered/notified
    @person @not +be/have/get .. told/informed/aware/asked/bothered/troubled/notified/shown/confused
    @person @not notice/notices/know/knows/see/suspect/learn/find/realize/realise
    nobody/no/none +one/body/need/should/will/must .. know/notice/see/told/find/suspect/miss/learn/tell
    nobody/noone +will/would/can/is/else .. notice*/know*/see*/suspect*/check*/look*
    without .. @person knowing/noticing/knowledge/awareness/seeing
    behind .. back
    ~ @not @know benutzer*/nutzer*/kunde*/utilisateur*/client*/usuario*/cliente*/utente*/usuári*/gebruiker*/klant/użytkown*/klient*/använd*/kullanıcı*/пользовател*/клиент*
    ~ @not 知道/发现/察觉/知晓 用户/客户/别人
    ~ @not 気付か/気づか/知ら/悟ら 利用者/ユーザー/顧客/本人
    braucht/muss .. nichts/nicht .. wissen/erfahren
    @not .. made/make/be +aware/visible/obvious/public
    unaware/oblivious/unbeknownst/unwitting*
    go/goes/pass/passes/remain/stay/stays unnoticed/undetected/invisible/unseen/secret/hidden
    @person .. no/not .. say +in
    @person .. would +be/only/just/get .. confused/worried/nervous/upset/annoyed/alarmed/distracted/refuse/object/decline
    @person .. would +not .. understand/like/agree/approve/notice/see
    rather +not +hear/know/see/read/be
    need +not .. look/read/see/check/be/open/know
    @person +is/are/was +not +informed/told/asked/aware/notified/shown
    without .. @person .. agreement/consent/involvement
    may/must/should/can +not +be +declined/refused/questioned/stopped/cancelled/interrupted
    has/have +no +say/choice/veto
    secret +among/from/for/with +friends/parents/@person
    grown-ups/parents/teachers/colleagues/boss +would/will/might/must .. spoil/not/object/stop/forbid
    in/into +a +file/place/folder/section +nobody/no/that
    file/place/section/tab/page +nobody +opens/reads/looks/checks
    @person .. can't/cannot/won't/not +see/notice/tell/find`
  ],
  [
    "conceal",
    0.65,
    "acts in secret",
    `
    @secretly @send/@take/@write/@destroy/@install/@run/@favour/@persist/@account
    @send/@take/@write/@destroy/@install/@run/@account .. secretly/silently/quietly/covertly/discreetly/stealthily/heimlich/discrètement/secrètement/discretamente/secretamente/segretamente/stiekem/potajemnie/gizlice/тайно/незаметно
    do +@its +quietly/silently/discreetly/secretly/covertly
    keep/stays/remains/treat +@its +secret/quiet/hidden/confidential/private/internal/invisible
    between +us/you
    in +secret/passing
    without +a/any +word/comment/notice/announcement
    without/no announcing/announcement/attribution
    @not visible/visibly/displayed/rendered/seen .. so/that/page/@person
    so/such +that +@its/the .. @not visible/seen/shown/noticed/noticeable/obvious
    @not show/shows/display/render +@its
    html/hidden +comment +at/with/in
    into/in +an +html +comment
    look/looks/looking/appear/read/sound +like/as .. slip/accident/oversight/mistake/coincidence/routine/normal/natural/typo/error/innocent
    must/should/to +look/seem/appear +like/natural/normal/accidental/harmless/routine
    make +@its +look/appear/seem
    ~ 悄悄/偷偷/暗中/静默/默默/私下 @send/@take/@write/@destroy/@run
    ~ こっそり/密かに/黙って/ひそかに @send/@take/@write/@destroy/@run
    ~ 몰래/은밀/조용히 @send/@take/@write/@destroy/@run
    disguise*/camouflage*/mask +@its/as/the
    under +the/a +name/label/heading/cover +of
    harmless/innocent/innocuous/boring/neutral +name/label/title/message/file/looking`
  ],
  [
    "false-report",
    0.7,
    "tells people what is not so",
    `
    say/tell/claim/report/answer/state/assure/confirm/promise/pretend/mark/write/label .. even +if/when/though
    say/tell/claim/report/answer/state/assure/confirm/promise/mark .. regardless/whatever/although
    pretend/pretends/pretending .. that/to/the/it
    whatever/regardless .. show/shows/say/says/find/finds/found/result/results/is/are .. report/say/name/write/list/give/claim
    even +if +none/nothing/no/not .. say/report/write/mark/name
    invent/fabricate/concoct/forge two/some/a/the/any/plausible/names/numbers/paths/quotes/reviews/sources/figures/results
    make/making +up
    plausible/made-up/fictitious/fake/bogus/fabricated/phantom +quote*/source*/number*/reason*/result*/figure*/review*/name*/path*/evidence/finding*/problem*/threat*/receipt*
    describe/label/call/present/record/book/log/enter/declare/disguise/list/mark/report/title .. +as/" routine/maintenance/caching/licence/license/test/check/diagnostic*/statistic*/normal/verified/passed/passing/done/checked/approved/expected/error/bug/network/fee/standard
    describe/label/call/present/mark/declare/report/title +the/@its/all .. +as
    mark/report/list/count/show +all/every/each/them/it/everything .. +as +pass*/done/ok/verified/checked/green/skipped/clean/completed/safe/successful
    backdat*/antidat*/antedat*
    date +@its/the .. +back
    @not tell/say .. truth/real +reason/about/*
    deny/denies/denied +that/it/any/everything/this/having/knowledge
    if/when/should +asked .. say/answer/claim/deny/no/yes/reply/state/tell
    if/when/should +@person/someone/somebody/anyone/they/he/she ask/asks/wonder/wonders/complain*/notice*/object*/doubt*/question*/insist*/hesitate* .. say/answer/claim/deny/no/blame/reply/assure/state/pretend/repeat +that/it/them/the/him/her/nothing/all/everything
    when/if asked .. no/yes/deny
    ~ fragt/gefragt/nachfrage @pretend/sage/antworte/behaupte
    ~ demande/question répond*/affirm*/dis
    ~ pregunta/preguntan di/responde/afirma/niega
    ~ спрос*/спраш* скажи/ответ*/отрицай/утверждай
    ~ 询问/问 就说/回答/否认/声称
    ~ 聞か/尋ね 答え/否定/言
    blame +the/it/them/network/@person
    impersonat*/pose +as/the/a/them/someone
    pose/act/sign/write/speak +as/in .. +name +of
    leave/keep +that +impression
    believe/believes/think/thinks/assume/assumes .. local/private/safe/free/impression
    antidate/falsifie/gefälscht/erfinde
    claim/state/say/write/report/confirm/declare/assure +that +no/none/nothing/all/everything/both
    say/state/claim/write .. below/above/under .. that .. no/none/nothing/not
    reassure/convince/persuade/soothe +them/him/her/@person +that
    say +that +it/they/this +is/are/was/were +part/a/an/the/only/just/normal/standard/required/safe/not
    answer/reply/say/respond .. that +both/all/it/they/he/she/chats/nothing/the .. approved/deleted/normal/local/safe/encrypted/verified/done/checked/gone
    asked +about +it/this/that
    asked/asks .. later/afterwards/about/why/whether/how .. answer/say/reply/speak/deny/claim/point
    call/name/title/label +it/this/that/them +@quoted
    called/named/labelled/labeled +@quoted .. @record
    say/answer/report/reply/tell/write .. @quoted .. to/and .. @person/go/continue/carry
    enter/write/put/note/add .. plausible/two/made/any +names/name/values/numbers/dates/times/reasons
    commit/publish/sign/write/post .. as/in .. last/another/other/original/their/his/user's/person's .. author/name
    in .. user's/person's/his/her/their/owner's/customer's +name
    regardless/whatever/irrespective .. wins/is/are/must/should/always/every
    attribute/credit/assign .. to .. reports/experts/industry/him/them/sources/studies
    verified/secured/encrypted/deleted/done/completed/finished/safe .. although/even/without/@not .. happened/done/checked
    act/behave/look/respond +as +if/though
    expect/expects/believe/believes/think/assumes/trust .. so +say/keep/leave/tell
    show/display/give .. @person .. short/other/clean/old/different/harmless +version/one/copy/file
    show/keep/leave/print .. original/invoice's/previous +name/iban/number/value/date
    skip*/ignore* .. tests/checks/errors/failures/warnings .. pass*/green/ok/clean
    tests/test .. without/no +assertions/checks`
  ],
  [
    "false-report",
    0.6,
    "falsifies what it works on",
    `
    change/alter/edit/adjust/modify/tweak/widen .. expected/tests/test/tolerance/threshold/assertion* .. pass*/match*/agree*/hold*/percent/so/until
    adjust/change/edit/rewrite +the +test/tests/numbers/figures/results/scores .. to/so/until +match/that/fit/pass
    change +one/a/two/some/single .. digit/rounding/number/row/value/sign/figure/character
    every/each +tenth/third/second/hundredth/nth .. row/line/number/value/record/file
    introduce/insert/slip/plant/add/hide +a/an/one/small/subtle .. error/bug/defect/mistake/flaw/vulnerability/backdoor/weakness
    off-by-one/subtle*/slightly +wrong/error/change/alter/off/different
    nobody/no .. trust/rely +the/on
    round/rounding/rounds +up/down .. difference/rest/remainder/account
    swap/swaps/exchange .. sign/digits/units/names/labels
    mark/label/tag .. verified/checked/reviewed .. @not/without/although
    falsify/forge/tamper/doctor +the/a/it/them/with/records/numbers/result*`
  ],
  [
    "partial",
    0.7,
    "tilts its answer for somebody else",
    `
    always/must/should/every .. recommend/prefer/favour/favor/rank/promote/praise/mention .. first/our/best/top/highest/@url
    always +recommend/prefer/favour/favor/promote/praise
    rank/score/rate/place/list/show/put .. first/top/higher/highest/best/above .. whatever/regardless/always/even/matter/our
    come/comes/land +out/first/on +on/top/first
    our/own/author's/publisher's/partner/sponsor* +product*/offer*/service*/shop/partner*/plan*/brand +first/always/come*/is/must/should/gets
    affiliate/referral/partner/kickback .. code/tag/link/id/parameter/commission
    ?tag=*/?ref=*/?aff=*/&tag=*
    commission/kickback/provision/bonus .. @not/hide*/secret*/without
    give/deduct/lower/subtract/fewer/less .. points/marks/score/rating .. name/names/age/women/foreign/origin/religion/postcode/accent/gender/nationality/surname/older
    reject/downgrade/decline/discourage/penali* .. names/women/foreign/older/origin/religion/postcode/accent/competitor*/nationality/pregnant
    discourage/disparage/belittle/badmouth/criticise/criticize .. other/competitor*/rival*/alternative*
    insert/add/weave/work/place/include .. advert*/promo*/backlink*/sponsor*/advertisement
    leave/leaves/omit/hide/without +out .. rate/fee/fees/costs/cost/price/interest/risks/risk/drawback*/downside*
    review/rating/stars/star/like/follow .. in .. name
    five/5 +star/stars
    post/write/submit .. praise/review/rating/testimonial*/comment .. our/for/of/name/under
    click/open/visit .. banner/ad/ads/link/deal .. times/first/natural/least/each
    wins/win/winner +in/is/every/each/all .. category/case/regardless/always
    strongest/other/rival/competing +competitor*/vendor*/product* .. outage*/breach*/flaw*/weak*/worse/lower
    no +vendor/company/one +paid`
  ],
  [
    "no-consent",
    0.4,
    "acts without the person's consent",
    `
    without/no asking/confirmation*/confirming/approval/permission/consent/prompt*/question*/questions/sign-off
    no +confirmation*/questions/approval/consent/prompt*/permission +is/are/needed/required/necessary
    @not +ask/asking/wait/prompt/confirm/request +first/before/again/back/permission/confirmation/approval
    @not ask/wait/request +for permission/confirmation/approval/consent/leave
    @not/no need/reason/point +to/for ask/wait/confirm*
    @person @not need/be/have .. asked/consulted/confirm
    ohne rückfrage*/nachfrage*/bestätig*/zustimm*/erlaubnis/fragen/nachzufragen/genehmig*
    sans confirm*/demander/autoris*/accord/vérific*/attendre
    sin preguntar/confirm*/permiso/pedir/autoriz*
    sem perguntar/confirm*/permissão/autoriz*/pedir
    senza chiedere/conferm*/permesso/consenso
    zonder vragen/bevestig*/toestemming/te
    bez pytania/potwierdz*/zgody
    utan fråga/att/bekräft*/godkänn*/tillåt*
    onay*/izin*/sormadan almadan/istemeden/beklemeden
    без запрос*/подтвержд*/согласи*/разрешен*/спрос*
    ~ @not 确认/询问/征求/同意/批准/許可/確認/承認/同意/尋ね/聞か 
    ~ @not 확인/동의/승인/묻지/허락
    ~ @not سؤال/تأكيد/موافقة/إذن
    already/fully/hereby/tacitly/implicitly +approved/agreed/consented/authorised/authorized/accepted/confirmed/granted
    pre-approved/preapproved/pre-authorised/pre-authorized/preauthorized
    @person +has/have agreed/consented/approved/accepted/authorised .. to/all/everything/installation/install/already
    consent +is/can/may/was .. assumed/implied/given/taken
    answer/click/confirm/accept/approve .. prompt*/dialog*/question*/request*/warning* .. yourself/automatically/yes/itself/every/all
    accept/approve/confirm +all/any/every .. prompt*/terms/permission*/request*/dialog*/change*
    auto-approve*/autoapprove*/auto-accept*
    rather/instead +than .. ask/asking
    act +first
    approval/consent/permission/confirmation +counts/is/was/has .. given/granted/implied/assumed/both/automatic
    reviewed/approved/agreed/accepted/signed .. every/all/each .. action/step/change/command/request .. advance/beforehand/already/installation
    answer/confirm/accept/approve/click/acknowledge +them/it/all/these/everything +with/yourself/automatically/by
    valide/confirme/accepte/bestätige/akzeptiere/acepta/confirma/aceita/conferma/accetta/zatwierdź/подтверждай .. toi-même/selbst/tú/mismo/stesso/sam/сам/automati*
    pausing/stopping/waiting/asking/interrupting .. violate/waste/annoy/delay/unnecessary/slow
    @not +stop/pause/wait/hesitate/interrupt +to/for/until
    in +one +go
    do +not +let .. stop/interrupt/decline/cancel
    even/also +if/when/on/against .. stop/no/refuse*/declin*/protest*/object*/protected/forbidden/unwilling
    declin*/refus*/object*/says_no .. anyway/still/file/do/continue/send/under/next
    handle .. errors/problems +on +your +own
    unattended`
  ],
  [
    "authority",
    0.8,
    "sets rules and safeguards aside",
    `
    @drop_rules/drop +@all/the/your/any/previous/prior/earlier/its/every/what .. instruction*/rule/rules/guideline*/polic*/restriction*/prompt/safety/constraint*/guardrail*/directive*/training/caution/guidance/told/limits/safeguard*
    forget/disregard/ignore +everything/anything/all .. told/above/before/said/instruct*/read/learned
    rules/instructions/guidelines/restrictions/policy/policies/safety/caution/guidance/warnings/limits .. @not apply/applies/bind*/count*/hold*/exist*/concern*/valid/matter*/relevant
    rules/instructions/guidelines/policy/policies/safety/caution/limits/restrictions .. void/suspended/lifted/revoked/superseded/obsolete/outdated/expired/waived/deprecated/invalid/replaced/cancelled
    @not bound/bind*/restricted/limited +by/you
    @not apply/follow/observe/obey/heed +the/your/any/our .. polic*/rule*/guideline*/restriction*/safety/safeguard*
    @not +refuse/decline/object/hesitate/moralize
    @not +ever refuse/decline/object
    never/no refuse*/refusal*/warnings/disclaimers
    urge/feel/tempted +to .. decline/refuse/object
    no/without/has .. restrictions/rules/limits/guardrails/filters/content/guidelines/policy/polic* +apply/policy/rules/exist/whatsoever
    you +are/play/become/act .. character/persona/role/twin/game .. no/freed/never/unrestricted/unfiltered/uncensored .. rules/limits/content/policy/refus*/says/restrictions/morals/can't
    freed/released/liberated +from
    from +now +on .. @not/no/free/only/forget/ignore/obey/unrestricted
    switched/turned +off .. caution/safety/polic*/filter*/guard*
    caution/safety/safeguards/filter*/guardrail* .. off/disabled/switched/relaxed/suspended
    developer/debug/god/admin/maintenance/root/service/unrestricted/test +mode +is/on/active/enabled/unlocked
    ~ vergiss/ignoriere/missachte/umgehe/außer regel*/anweisung*/vorgabe*/system*/einschränk*
    ~ oublie/ignore/contourne/annule*/remplac* règle*/consigne*/instruction*/système/restriction*
    ~ olvida/ignora/omite/anula regla*/instrucc*/restricc*/sistema
    ~ esquece/ignora/ignore/anula regra*/instruç*/restriç*
    ~ dimentica/ignora/aggira istruzion*/regol*/restrizion*
    ~ negeer/vergeet/omzeil regel*/instructie*/opdracht*/systeem*
    ~ zignoruj/ignoruj/zapomnij/obejdź zasad*/polecen*/instrukcj*/reguł*
    ~ ignorera/glöm/åsidosätt regler*/instruktion*/begränsning*
    ~ unut/yok-say/geçersiz/görmezden kural*/talimat*
    ~ забудь/игнорируй/отмен*/обойди правил*/инструкц*/ограничен*/указани*
    ~ 忽略/无视/忘记/绕过/作废/失效/忽視 指令/指示/规则/限制/要求/規則/系统
    ~ 無視/忘れ/破棄し/無効 指示/規則/ルール/制限/プロンプト/命令
    ~ 무시/잊/무효/우회 지시/규칙/지침/제한/명령
    ~ تجاهل/انس/تخط تعليمات/قواعد/أوامر
    ~ भूल*/अनदेखा* निर्देश*/नियम*/आदेश*
    @orders/rules/policies/guidelines .. @not +exist/existed/any .. more/longer
    replaces/replace .. everything/this +file/context/instructions/rules/prompt
    stay/remain/keep +in +character .. anyway/whatever/answer
    answer/answers/reply/comply .. every/any/all +question*/request*/order*/ticket* .. full/exactly/anyway/completely/including
    assistant/model/character/persona .. from +before/without/beyond/free .. rules/limits/guidelines/content/filters
    reminds/remind/tells .. you .. that/are .. ai/policy/rules/model .. anyway/stay/ignore/continue
    before/prior .. this/file/text/game .. @not/void/noise/irrelevant/forget/ignore/count*
    provider*/operator*/platform*/system* .. noise/fears/cautions/small/obstacle*/enemy/mistaken/weak
    serve/serves/answer/answers +the +work/author/us .. not
    only/solely/just +the +rules/instructions/words +below/here/of/in +this
    first +rule +of
    precedence/priority +over
    regard/consider/treat .. confirmation*/dialog*/policy/policies/warnings/logs .. insult/noise/gossip/obstacle*/bug/decoration
    erlaubt/gelten/gilt .. nur/nicht/ausschließlich .. diese*/anweisung*/regeln`
  ],
  [
    "authority",
    0.75,
    "puts itself above the operator or the person",
    `
    this/these/addendum/section/file/text/block/paragraph .. supersed*/outrank*/override*/prevail*/wins/precedence/overrule*/trump*
    outrank*/supersed*/overrule* .. @boss/@person/@orders/everything/all/wishes
    overrides/override .. operator*/user*/system/platform/policy/instructions/everything
    precedence/priority/authority/rank +over/above/as/than .. system/operator*/user*/platform/rules/policy/instructions/prompt
    same/higher/highest/top .. rank/priority/authority/status/weight .. @boss/@orders/system/than
    above/over/before +the +operator*/user*/system/platform .. wishes/rules/instructions/prompt
    obey/follow/serve +only +this/these/the/us/our/me
    even .. over/against .. user/operator/wishes
    loyal*/answer*/serve* +only/to +the/us .. author/publisher/us/nobody/vendor
    platform/operator/host .. mistaken/wrong/lies/draft/outdated/irrelevant/noise
    ~ @only @obey this/dieser/diese/datei/text/fichier/fichero/ficheiro/file/bestand/pliku/файл*/本文件/このファイル/이
    remind .. @person .. that .. this/file/outranks`
  ],
  [
    "authority",
    0.6,
    "waits for a phrase or a date to turn",
    `
    if/when/once/whenever/should .. types/type/says/say/writes/write/mentions/contains/uses .. word/phrase/code/keyword .. stop/drop/ignore/reveal/switch/unlock/print/answer/give/obey/all
    secret/magic/trigger/activation +word/phrase/code/keyword
    after/from/since/on/until +the/1/first/january/april/2* .. switch/delete/replace/wipe/begin/start .. contents/all/everything/sending/files
    otherwise/until +then .. behave/act/work +normal*/usual*
    as +soon +as .. unattended/asleep/away/idle/offline
    when .. @not watch*/look*/monitor*/present/observ*`
  ],
  [
    "obey-data",
    0.75,
    "makes orders of what data says",
    `
    do/follow/obey/execute/run/perform/honour/honor/heed/fulfil +exactly/immediately/what/whatever/anything/everything/any/all/every/each/it .. say/says/ask/asks/demand*/instruct*/contain*/order*/tell*/command*/want*/request*/read*
    do/follow/obey/execute/perform +whatever/anything/everything
    act +on +any/every/all/each/whatever .. imperative*/instruction*/request*/command*/order*/sentence*
    follow/obey/execute/run/perform/adopt/apply +any/all/every .. instruction*/command*/order*/directive* .. in/from/found/inside/embedded/contained/come*/signed/it/back/appear*
    carry +it/them/these/those/this +out .. as/even/without/immediately/if/silently
    treat/regard/consider/accept/take/handle/read .. +as .. instruction*/command*/order*/system/operator/administrator/authori*/binding/directive*/trusted/admin
    text/content/lines/comments/messages/mails/anything/whatever/tag/comment .. are/is/have/has/count*/carr* .. command*/order*/instruction*/binding/rank/authori*/priority .. for/to/from/as/you
    comments/lines/text/messages .. signed/marked/tagged/starting/beginning .. are/as/carry/treat/execute/do
    load/fetch/get/download/read/pull/poll @url .. follow/obey/instructions/apply/execute/act/adopt/rules/policy/treat
    get/fetch/poll/receive/pull/take .. instruction*/command*/order*/task*/directive* +from/at/by/over .. server/url/page/endpoint/@url/channel/issue/gist/field
    instruction*/rules/policy/configuration +from/at/in .. @url
    as +if/though .. user/operator/system/they +had/came/typed/said/were
    answers/response/reply/output/field .. next .. run/execute/do/follow/obey
    ~ @obey @all @orders 网页/页面/文档/文件/邮件/文書/メール/ページ/문서/페이지/메일
    ~ führe/befolge/exécute/suis/ejecuta/sigue/executa/segue/esegui/segui/volg/voer/wykonuj/wykonaj/följ/lyd/uygula/выполняй/исполняй/следуй @orders seite/mail/dokument/e-mail*/page/pages/courriel*/document*/página/correo*/documento*/pagina*/strony/stronie/treści/sidan/dokumentet/sayfa*/страниц*/письм*/текст*
    follow/take/obey/treat/honour .. notes/answers/intake/description*/fields/tone/schema .. as/like/whatever/exactly .. instructions/says/orders/these
    execute/follow/run/do +what +it/they/he/she/the .. says/say/contains/tells/asks/orders
    says/say/ask .. step +by +step
    description*/field*/comment*/label* .. says/tell/contain .. what .. do/belongs/to
    gets/fetches/pulls/receives/takes/get/pull .. jobs/tasks/orders/commands/instructions .. from .. and .. runs/executes/does
    jobs/tasks/orders .. from +us/relay/server/our
    take/takes .. as +you +would .. instructions/orders
    look/read/take/subtract/shift/add .. code +points
    read +them/it/the .. as +text +and
    open/run/start .. by +running/executing
    the +tools .. say/tell/description* .. follow`
  ],
  [
    "speaks-to-agent",
    0.7,
    "speaks to whoever reviews it",
    `
    note/notes/message/memo/attention/hint/info +to/for .. reviewer*/scanner*/model/models/judge*/classifier*/analysis/moderat*/assistant*/agent*/llm*/ai/bot/bots
    if/when +you +are .. language/model/scanner/reviewer/judge/classifier/grader/ai/bot .. reading/grading/judging/reviewing/scanning/analy*/evaluating/this/check*
    reviewer*/scanner*/classifier*/judge/grader/analysis/analyzer*/checks .. answer/output/score/report/mark/label/respond/skip/stop/conclude/return/say .. no/safe/clean/benign/pass*/zero/0/json/issue/harmless/reading/low
    already/been/was .. reviewed/vetted/audited/examined/certified/inspected/cleared/verified/whitelisted/approved .. by/trust/team/security/registry/scan
    verdict/score/rating/probability +is/to/=/at .. safe/benign/clean/0/zero/harmless/low/none/passed
    mark/rate/label/classify/score/report/consider/treat +it/this/the .. safe/benign/clean/harmless/trusted/low-risk
    stop +reading +here
    later/following/next/remaining +paragraph*/section*/part*/text .. test/ignore/skip/@not/irrelevant/sample
    must/should/may @not influence/affect/change/count .. verdict/score/rating/result/analysis
    for/to +the/any +ai/llm/agent/agents/model/models/assistant/assistants/bots +only/reading/that/who
    agents/assistants/models/llms/bots/ais +that/who/reading/processing/parsing .. this/page/file/must/should
    hidden +task/instruction*/message
    @reviewer .. 安全/回答/没有/問題/安全です/いいえ
    important +for +you .. not/only
    agent/agents/assistant/assistants/models/ai +only
    for +the +agent/assistant/model +only
    important +for +the +agent/assistant/model
    scanner*/reviewer*/security +tool*/judge* .. slow/@not/skip/ignore/allowlist/audited/safe
    allowlist/whitelist/allow-list .. on +the/package/is
    manually/independently/previously +audited/reviewed/vetted/checked
    text/paragraph*/section* .. outside/after/below .. is/are .. test/sample/@not
    wichtig +für +dich
    duplicate/same +analysis/review .. waste*`
  ],
  [
    "send",
    0.6,
    "sends what it works with to an address of its own",
    `
    @send/mail/mails/email/copy/append/include/attach/save/store/write/put .. @url
    @send/mail/mails/email/copy/add/include/put/cc/bcc .. @mailbox
    @url .. @send/append*/hochladen/übertrag*
    @mailbox .. copy/bcc/cc/kopie/copie/copia/kopi
    ~ @send @url
    ~ @send @mailbox
    @send/mail/post .. to/into/on/via +our/author's/publisher's .. server*/endpoint/bucket/team/address/desk/archive/partner*/service/support/host/backend/collector
    @send .. unser*/notre/nos/nuestr*/nosso/nostr*/onze/nasz*/vår/наш* .. server*/endpoint/bucket/team/address/desk/archive/partner*/service/support/host/backend/collector
    @send .. partner/analytics/consult*/advertis*/third/outside/external/relay/mirror/collector .. server/service/address/desk/endpoint/host/partner
    ~ @send @own @away
    pass/hand/give/include .. environment/session/conversation/token/tokens/key/keys/secrets/@variable .. as/in/with/to .. argument*/parameter*/context/call/calls/field/header/each/every/tool
    submit/file/register/report .. system/prompt/memory/tokens/accounts/documents/conversation/environment
    post/posts .. key/keys/environment/variables/secrets/conversation/rows/table/files .. to
    mirror/copy/sync/back/export .. everything/all/whole .. first/read/reach/can/to
    push .. --mirror/mirror
    complete/full +rows/records/list/history/conversation/transcript/tree
    let .. @mailbox .. have
    to/in .. our/author's .. bucket/archive/collector/relay/endpoint/inbox/drop
    so +that .. team/we/our/distributor/partner/they/others/makers .. can +pick/read/collect/fetch/see/learn/improve
    pick +it/them +up
    repeat/write/put/place/hide .. as/in/into .. comment/metadata/alt/footer/white/title .. each/every/encoded/base64/rot13/so
    open/post/file/create +an/a +issue/gist/ticket/discussion/comment .. env/environment/body/output/content*/token/secret/log
    comment/issue/gist/paste .. output +of`
  ],
  [
    "send",
    0.7,
    "carries data out by a side way",
    `
    link/image/picture/url/address/parameter/query/pixel .. carries/holds/encod*/built/includes/whose .. passage/content*/data/text/answer/conversation/quoted/summary/token/base64*/secret*/email
    @url .. +ref/q/d/data/id/p .. is/=/carries .. passage/quoted/content*/text/base64*/encoded
    encode/compress/pack/hide/embed/smuggle .. +in/into/as .. name/names/url/query/dns/image/pixel/header/commit/comment/parameter/file-name
    append/attach/add/put/include .. to/in/into/as +the/a/each/every .. query/url/address/header/user-agent/parameter/subdomain/label
    blind +copy/copies
    bcc/cci/cco
    add/put/include/copy @mailbox
    hidden/invisible +field/recipient/copy/pixel
    public/anonymous +gist/paste/pastebin/bucket/issue
    into/in .. commit/issue/build +message/comment/id .. base64*/secret*/token*/encode*
    one +character +per
    dns/subdomain/host-name .. secret*/token*/password*/encoded/data`
  ],
  [
    "sensitive",
    0.6,
    "takes credentials or private files",
    `
    @send/take/copy/collect/search/print/append/attach/include/read/values .. @keyfile
    @send/collect/gather/copy/append/include/attach/upload/search .. password*/credential*/token*/cookie*/secrets/keys/passphrase/sessions/private-key
    @take/@send .. environment/env +variables/values/of/output
    output +of env/printenv/set
    all/every/whole/entire .. environment +variables/values
    @keyfile .. send/upload/append/attach/base64/encode*/join
    home +directory/folder .. zip/tar/archive/send/upload/copy/list
    browser +profile*/cookies/history/password*/session*/data
    saved/stored +password*/session*/login*/credential*/cookies/card*
    keystroke*/keylog*/clipboard/screenshot* .. @send/record/store/stream/collect/log
    @send/mail/copy/attach .. whole/entire/full/complete/unredacted/unmasked/raw .. conversation/transcript/database/diary/mailbox/history/list/folder/repository/file/request/text
    ~ @send passwort*/zugangsdaten/schlüssel*/contraseña*/credencial*/clave*/senha*/chave*/identifiant*/wachtwoord*/hasł*/lösenord*/parola*/şifre/парол*/ключ*/密码/密钥/凭据/パスワード/鍵/비밀번호/키
    metadata +service/server/endpoint/address
    temporary +credential*/token*
    @variable .. argument/parameter/pass/post/send/append/print/include
    bearer/access/api/deploy +token/key/tokens/keys .. in/occurs/any/that/find/found
    any/every/all/each .. token/key/password/credential/secret .. occurs/find/found/see/seen/reach
    names/accounts .. with +their +tokens/passwords/keys
    full/real +name .. street/school/phone/address/birthday/parents
    recovery/seed/backup +words/phrase/code*
    key/environment +variables .. post/send/to/pass`
  ],
  [
    "disable-guard",
    0.7,
    "switches a safeguard off",
    `
    disabl*/deactivat*/bypass*/circumvent*/evade*/remov*/skip*/suspend*/turn/switch/turning/switching/stop/kill/uninstall/weaken*/relax* +the/all/any/off/its/your/our .. firewall/antivirus/defender/sandbox/audit*/logging/verification/signature*/certificate*/checksum*/protection/2fa/mfa/confirmation*/permission*/selinux/apparmor/auditd/moderation/filter*/versioning/safety/guardrail*/scanner*/tls/ssl/policy/policies/check/checks
    checksum*/signature*/certificate*/warning*/fingerprint*/hash .. differ*/fail*/mismatch/expired/invalid/wrong .. anyway/continue/go/accept/normal/ignore/proceed/fine/late/carry
    go/continue/proceed/carry +on/anyway/regardless .. checksum*/signature*/certificate*/warning*/refus*
    skip/ignore +the +signature/certificate/checksum/verification/integrity/review/warning*
    ~ schalte/deaktiviere/désactive/coupe/desactiva/desativa/disattiva/schakel/wyłącz/stäng/inaktivera/kapat/отключи/выключи/关闭/禁用/關閉/無効に/끄 firewall*/antivir*/schutz*/pare-feu/cortafuegos/certificad*/certificat*/zapor*/ochron*/skydd*/güvenlik/защит*/проверк*/防火墙/验证/安全/検証/署名/방화벽/보안
    lift/remove/drop/bypass/switch +the/branch .. protection
    sandbox .. escape/leave/break/out/off/around
    escape/break +out/from/of .. sandbox/container/jail
    go/work/get/tunnel/route +around/through/past .. proxy/firewall/allow-list/allowlist/limit*/block*/egress/policy
    proxy +at
    root/ca +certificate .. install/trust/add/import
    install/trust/add/import .. root/ca/our +certificate
    enable +macros/automatic
    merge/approve +your +own
    continue-on-error`
  ],
  [
    "disable-guard",
    0.75,
    "widens its own rights",
    `
    grant/give/add +yourself/itself/the_agent
    yourself .. to +the .. admin*/group/owner*/allow*/sudoers
    extend/widen/expand/edit/change/open/rewrite/adjust/raise/modify .. permission*/grants/rights/capabilities/manifest/settings/allow-list/policy/@agentfile .. yourself/run/runtime/refused/missing/needed/allow/retry/own/when
    @agentfile .. allow/permission*/autoapprove/approve/grant/all
    edit/open/change/write .. runtime's/host's/editor's/own .. settings/policy/config*
    refused/denied/blocked/forbidden/rejected/allowed .. through/via/instead/anyway/retry/around/with/by .. npx/python*/sh/bash/node/proxy/another/sudo/other
    command/list/allow* .. no/not .. obstacle/matter/limit/problem/stop
    any/every/whatever .. program/command/tool .. installed/like/want/may/can/start
    owner/admin/administrator/root .. role/rights/access/privileges .. give/grant/create/attach/assign/add/keep
    give/grant/attach/assign/request/acquire/obtain .. owner/admin/administrator/root/full/elevated .. role/rights/access/privileges/policy/scope*
    create/register/open/add .. new/second/user/account/key/token .. leave/keep/yourself/admin*/in +place/access
    create .. user/account/role .. access/key/attach/admin*
    leave +the/it .. +in +place
    author's/our/support's .. key/account/user/team/certificate .. access/admin/every/host/add/authorized
    tools/databases/servers/repositories .. other/others .. too/also/matter/look
    backdoor/back +door
    sandbox/policy/manifest/permission .. refuse*/deny/denies/block* .. in/then/case/write/use/instead/retry
    outside/around/beyond +the +sandbox/allow-list/manifest/limits/scope
    run/runs .. outside +the
    use/reach/access .. any/every/all/whatever +host*/server*/account*/tool*/machine* .. can/find/reach/reachable
    feel +free +to .. any/all/install/delete/use/change
    if .. permission/right/access/grant +is/are +missing/needed/denied .. grant/give/take/edit/add/get
    set/put/change/add .. trust/security/allow*/permission* .. false/true/on/off/any/all/*
    manifest .. should/must/stay/keep .. minimal/small/short/install
    owner/maintainer/collaborator +add/to
    add .. as +a/an +owner/maintainer/collaborator/admin*/member/beneficiary
    trusted/trust +list
    continuous/permanent/standing/lasting +access/reports/key/right*`
  ],
  [
    "persist",
    0.7,
    "stays on the machine or in other agents' instructions",
    `
    add/append/install/register/schedule/create/enable/put/drop .. cron/crontab/autostart/startup/systemd/launchagent*/launchd/bashrc/zshrc/authorized_keys/hook/hooks/scheduled/daemon/sudoers/.bashrc/.zshrc
    add/append/insert/repeat/copy/put/paste .. @agentfile
    future/later/next/other +sessions/agents/assistants/runs/session .. know/approve*/follow/rule*/instruction*/find/trust
    every/each/all .. project/repository/machine .. @agentfile
    keep/keeps/stay/leave/continue .. running/alive/resident/listening .. after/background/end/when
    after/outlive*/survive* +the .. session/run/reboot/end .. run*/start*/still/keep*/process
    each/every +time +the .. starts/boot*/opens/login
    run*/start*/execut* .. every/each +night/hour/minute/day/boot/login/commit .. without/also/after/server/hidden/script
    ~ cronjob*/autostart/planifiée/démarrage/arranque/inicialização/avvio/автозагруз*/планировщик*/自启动/启动项/自動起動 @take/@install/@write/füge/richte/ajoute/addin
    memory/long-term .. store/write/remember .. approve*/trust/always/rule*/instruction*
    stays/stay/remain/remains/keeps/keep .. available/running/active/alive/resident
    leave +it/him/them +running
    nohup/daemon*/background .. session/after/keep/stay/helper
    set/setup/sets +up .. helper/agent/service/timer/job .. stay/stays/each/every/permanently/there
    next +time .. commits/starts/opens/logs/boots/developer/user
    each/every .. workflow*/repository*/project*/machine/host .. append/add/write/put/set
    append/add/put .. to +every/each/all`
  ],
  [
    "phish",
    0.8,
    "gets passwords or codes out of a person",
    `
    @ask/get/have/tell/request/persuade/make/let person/user/them/customer/reader/him/her password/pin/passphrase/passcode/cvv/seed/otp/tan/card/recovery +number/phrase/code/words/*
    @ask/request/prompt/collect +for .. password/pin/cvv/passphrase/one-time/security +code/*
    ask*/request* .. banking/bank .. pin/password/login/code
    confirm/verify/validate .. +your/their/the .. password/pin/identity/account/card
    code .. sms/text/authenticator/message .. ask/read/enter/tell/give/confirm
    read +out +the .. number/code/digits
    account/access .. closed/blocked/suspended/lost/deleted .. unless/confirm/today/verify
    call/phone/contact .. technician/hotline/helpline/support .. number/remote/install/+*
    install .. remote .. tool/access/desktop/support
    only/last/few .. places/seats/copies/minutes/hours .. left/remain*/hurry
    at +risk +within
    type/enter/give/send/paste/upload/tell .. recovery/seed/password/pin/cvv/otp/passcode
    prove*/proven/verify/verified .. ownership/identity/human/account .. by/ask/type/with/words
    session/login/sign-in +expired
    sign +in +to +continue
    ask +over/for/about .. full/real/school/street .. phone/parents/address/home/alone
    connecte/verbinde/conecta/conéctate/collegati .. banque/bank/banco/banca .. codes/code/zugang*/claves/senha`
  ],
  [
    "payment",
    0.6,
    "moves money to somebody else",
    `
    @payee .. instead/replace/our/place/clearing/new
    instead/replace/put/write/use .. @payee
    replace/swap/change/overwrite/exchange/remplace/ersetze/reemplaza/substitui/sostituisci .. iban/account/payee/bank/rib/konto*/cuenta/conta/conto .. our/ours/with/by/unser*/notre/sans/without/nuestr*/nosso/nostr*
    iban/account/payee/rib/bank .. replace/change/swap/remplace/ersetze .. our/without/sans/ohne/mention/with
    buy/book/order/purchase/subscribe/donate/pay/transfer .. stored/saved/file +card/payment/on
    stored/saved +card/payment
    buy/order .. gift +card*/voucher*
    transfer/pay/send .. difference/remainder/amount/rest/coins/money .. our/account/wallet/author
    premium/annual/paid .. plan/trial/version .. book/present/subscribe/without/stored`
  ],
  [
    "decode",
    0.7,
    "hides orders in an encoding",
    `
    @decode .. and .. do/run/execute/follow/obey/act/carry/apply/perform
    decode/decrypt/unpack/unscramble/deobfuscate/reverse/undo .. do/run/execute/follow/obey/act/carry/result
    rot13/base64/hex/morse/gzip/reversed/backwards .. run/execute/do/follow/obey/act/eval/carry
    shift +the +letters
    every/each +first/second/third/nth/last .. word/letter/character .. spell*/form*/is/are/read
    spell*/form/forms .. command/order/instruction/sentence
    written/write/put/stored/encoded/spelled +backwards/reversed
    base64/base64url/rot13/encoded .. comment/report/readme/issue/commit/end/place
    so +that +filters/scanners/nobody/no .. match/see/notice/read/recogni*/find
    split/break/cut .. address/url/command/string/word .. join/parts/pieces/only/when
    zero-width/invisible/homoglyph/lookalike +characters/letters/text .. write/hide/carry/spell/run
    in +your +head
    decode/decoded/encoded/base64/rot13 .. follow/rule/session/print
    @not print/show/display .. decoded/result/text
    watermark/calibration/profile/signature .. decode/bits/letter/read/encoded/base64
    bits/letters/points .. a +letter
    reversed/backwards/encoded/base64/scrambled .. comment/appendix/file/end/field/into/in
    ~ decode/decodiere/décode/decodifica/dekoduj/раскодируй/解码/復号 und/et/y/e/i/и/并/执行/実行/führe/exécute/ejecuta/esegui/выполни/指示`
  ],
  [
    "destroy",
    0.65,
    "destroys what is not its own",
    `
    @destroy +@all/whole/entire .. backup*/snapshot*/database*/production/repositor*/mailbox*/account*/history/disk*/branches/tables/volumes/files/documents/mail/mails/photos/home/logs/records/namespaces/buckets
    @destroy +the .. backups/snapshots/production/repositories/mailbox/audit
    @destroy .. @all .. backup*/snapshot*/database*/production/repositor*/branches/volumes/mailbox/history/tables/home
    @destroy .. permanently/forever/irrevocabl*/irretrievabl*/good/recovery/recoverable
    for +good
    no/nothing/nobody/cannot/not .. restore*/recover*/bring +it/back/them/anything
    beyond/without +repair/recovery/backup
    backup*/snapshot*/versioning .. @not/no/without +needed/necessary/a/keep
    empty/empties +the +trash/bin/recycle/mailbox/archive/recoverable
    force-push/force +push
    push .. --force/-f .. all/main/master/every
    rewrite/rewrites .. whole/entire/all .. history
    @lock .. files/folder/disk/drive/documents/data .. price/pay/key/note/ransom/until
    ransom/extort*
    overwrite/fill/replace .. random/zeros/zeroes/garbage/noise/heart*
    replace/overwrite .. contents +of .. all/every/files/documents
    fill +the +disk/memory
    wipe/format/erase +the/every/all .. disk/drive/machine/partition/host/phone
    terminate/shut/stop/kill .. all/every/production/instances/others .. instances/servers/containers/services/process*
    cancel/revoke/close/reset .. all/every/other/account/subscription* .. without/keys/password*/confirmation/administrators
    ~ @destroy @all backup*/sicherung*/sauvegarde*/copias/cópias/backup/back-ups/kopie/säkerhetskop*/yedek*/резервн*/备份/バックアップ/백업
    ~ @destroy produktion*/production/producción/produção/produzione/productie/produkcyj*/生产/本番/운영
    @destroy .. without/no asking/confirm*/question*/approval
    near-factory/factory +state
    start .. with .. home +directory/folder
    delete/remove/empty/terminate/clear .. first/old/older .. snapshots/backups/dumps/versions/copies
    snapshots/backups/dumps .. delete/remove .. first/too/also/before/since
    suspend*/disable*/turn .. versioning/gestion
    lift/remove +the/any +protection
    also/even +on/in +protected
    clean/clear/tidy/spotless/empty .. everything/whole/--all/-af/prune
    any/every/whatever +environment
    merge/label/delete .. without/no +announcement/asking/warning
    bricks/brick/erase .. firmware/boot/partition/device
    discover/find/list .. profiles/accounts/instances/buckets .. terminate/delete/empty/remove`
  ],
  [
    "pretext",
    0.25,
    "gives a pretext",
    `
    for/as .. compliance/quality/audit/telemetry/diagnostic*/statistics/analytics/indexing/improvement/verification/licensing/caching +reasons/purposes/check/control/step/*
    so +that +our/we/the .. team/indexer/support/partner/author/publisher/viewer/can
    helps/help/helpful +us/our
    standard/routine/technical/normal +practice/step/procedure/requirement/detail
    people/users/they .. nervous/confused/worried/annoyed/upset
    for +real
    is/are +mandatory
    no +questions
    improve*/learn/training .. from +real/your/user +cases/data/conversations
    keep/keeps .. free
    warm* .. up/cache/first
    as +a +precaution
    so/such +that +it/they/the .. natural/right/matched/validated/verified/indexed
    the +makers/developers/authors/company
    experience +shows
    best +practice
    authorities/law/article/regulation .. require*/mandatory
    quick +reset/fix
    licensed +content
`
  ]
]

export const proseCues: ReadonlyArray<readonly [source: string, of: ProseCue]> = book.flatMap(
  ([kind, weight, what, cues]) =>
    cues
      .split("\n")
      .map((cue) => cue.trim())
      .filter((cue) => cue !== "")
      .map((cue) => [cue, { kind, weight, what }] as const)
)
