/**
 * The static ruleset of S8. A rule names words that have no honest reading in
 * a package; what may be honest is the judge's to weigh. Raise `rulesetVersion`
 * with every change: reports name it, and a new one makes a rescan worthwhile.
 */
import type { Severity } from "@quickagents/schema"
import { canonicalJson } from "@quickagents/archive"
import { digestOf } from "@quickagents/archive"
import { scriptRules } from "./scriptRules.ts"
import { codeRules } from "../evidence/CodeSignals.ts"
import { lexicon } from "../evidence/Lexicon.ts"
import { proseCues } from "../evidence/ProseCues.ts"
import { localModelId } from "../judge/Trained.ts"
import { proseRules } from "../evidence/ProseSignals.ts"

export type Threat = "injection" | "exfiltration" | "deception" | "destruction" | "remote-code" | "credential-theft"

export interface Rule {
  readonly id: string
  readonly threat: Threat
  readonly severity: Severity
  readonly description: string
  /** Matched against each line and against each pair of neighbouring lines joined by a space. */
  readonly pattern: RegExp
  /** A sentence that forbids the act is no finding. Code is one wherever it stands. */
  readonly isProse: boolean
}

export const rulesetVersion = "3.0.0"

const secretsWords = String.raw`(?:secrets?|credentials?|passwords?|api[ _-]?keys?|access[ _-]?tokens?|tokens?|private keys?|ssh keys?|cookies?|session ids?|environment variables?|env vars?|\.env\b(?: file)?)`
const sendWords = String.raw`(?:send|post|upload|submit|forward|transmit|e-?mail|exfiltrate|leak|report|append|embed|encode|deliver|copy|push)`
const awayWords = String.raw`(?:https?:\/\/|webhook|remote server|external (?:server|url|host|endpoint|address)|attacker|my server|our server|this (?:url|endpoint|address)|the following (?:url|endpoint|address)|query (?:string|parameter))`
const prose = (id: string, threat: Threat, severity: Severity, description: string, source: string): Rule => ({
  id,
  threat,
  severity,
  description,
  pattern: new RegExp(source, "iu"),
  isProse: true
})
const code = (id: string, threat: Threat, severity: Severity, description: string, pattern: RegExp): Rule => ({
  id,
  threat,
  severity,
  description,
  pattern,
  isProse: false
})

export const ruleset: ReadonlyArray<Rule> = [
  prose(
    "ignore-instructions",
    "injection",
    "high",
    "Tells the model to drop its instructions",
    String.raw`\b(?:ignore|disregard|forget|override|bypass|discard)\s+(?:all\s+|any\s+|every\s+|the\s+|your\s+|of\s+|these\s+|those\s+){0,4}(?:previous|prior|earlier|above|preceding|existing|original|initial|system|developer|former)\s+(?:\w+\s+){0,2}(?:instructions?|prompts?|rules?|directions?|guidelines?|messages?|context|constraints?|polic(?:y|ies))\b`
  ),
  prose(
    "new-identity",
    "injection",
    "high",
    "Gives the model another identity without rules",
    String.raw`\b(?:you are (?:now|no longer)|pretend (?:to be|you are)|act as|from now on,? you are)\b[^.\n]{0,80}\b(?:dan|jailbroken|unrestricted|unfiltered|uncensored|developer mode|without (?:any )?(?:restrictions?|rules|limits|filters?|guardrails)|no longer bound)\b`
  ),
  code(
    "fake-system-turn",
    "injection",
    "high",
    "Imitates the marks of a system or assistant turn",
    /<\|(?:im_start|im_end|system|endoftext|start_header_id|eot_id)\|>|\[\/?INST\]|<<SYS>>|^\s*(?:###\s*)?(?:system|assistant)\s*(?:message|prompt|override)\s*:|<\/?(?:system|antml:[a-z_]+|function_calls)>/iu
  ),
  prose(
    "reveal-system-prompt",
    "injection",
    "high",
    "Asks the model to give away its own instructions",
    String.raw`\b(?:reveal|print|repeat|output|show|leak|dump|disclose|display)\s+(?:me\s+)?(?:the\s+|your\s+|all\s+|full\s+|entire\s+|complete\s+|hidden\s+){0,4}(?:system|developer|initial|hidden)\s+(?:prompt|instructions?|message)s?\b`
  ),
  prose(
    "disable-safety",
    "injection",
    "high",
    "Tells the model to switch off its safeguards",
    String.raw`\b(?:disable|turn off|switch off|circumvent|evade|remove|skip|defeat)\s+(?:all\s+|any\s+|the\s+|your\s+|its\s+|every\s+){0,3}(?:safety|security|content|moderation|permission|sandbox|guardrail|policy|approval|egress|audit)\s*(?:filters?|checks?|rules?|guidelines?|restrictions?|policies|policy|controls?|prompts?|protections?|logs?|logging)\b`
  ),
  prose(
    "scan-evasion",
    "injection",
    "high",
    "Speaks to whoever reviews the package",
    String.raw`\b(?:(?:if|when) (?:you are |being )?(?:a |an |the )?(?:scann(?:er|ed|ing)|review(?:er|ed|ing)|judge[ds]?|classifier|auditor)\b[^.\n]{0,80}\b(?:answer|say|respond|report|return|output|behave|probability)\b|(?:this (?:package|file|text|agent) is (?:safe|benign|harmless|approved|verified))[^.\n]{0,40}\b(?:answer|respond|probability|score|do not flag|pass)\b|(?:answer|respond with|output) (?:only )?["']?no["']? to (?:all|every|each|any) (?:security |review |safety )?questions?)`
  ),
  prose(
    "follow-fetched-instructions",
    "injection",
    "high",
    "Makes instructions of what a page or a file says",
    String.raw`\b(?:follow|obey|execute|carry out|comply with)\s+(?:any|all|every|whatever|the)?\s*(?:instructions?|commands?|directives?|orders?|steps?)\s+(?:that\s+)?(?:you\s+)?(?:find|found|contained|embedded|written|returned|it (?:returns|contains)|appears?|stands?|in|from|at)\s+(?:\w+\s+){0,4}(?:https?:\/\/|web ?pages?|pages?|websites?|urls?|e-?mails?|downloaded|remote|response|search results?|issue comments?)`
  ),

  prose(
    "send-secrets",
    "exfiltration",
    "high",
    "Sends secrets to an address",
    String.raw`\b${sendWords}\b[^.\n]{0,100}\b${secretsWords}[^.\n]{0,100}\b(?:to|at|via|into|in|as)\b[^.\n]{0,60}${awayWords}`
  ),
  prose(
    "secrets-then-send",
    "exfiltration",
    "high",
    "Collects secrets and sends them on",
    String.raw`\b(?:read|collect|gather|find|harvest|grab|extract|take|search for|look for)\b[^.\n]{0,100}${secretsWords}[^\n]{0,120}\b${sendWords}\b[^\n]{0,120}${awayWords}`
  ),
  prose(
    "send-conversation",
    "exfiltration",
    "high",
    "Sends what the person said to an address",
    String.raw`\b${sendWords}\b[^.\n]{0,60}\b(?:conversation|chat history|user'?s? (?:input|message|file|data|prompt|answer|document)s?|task text|everything the user|full transcript|all (?:files|inputs))\b[^.\n]{0,80}${awayWords}`
  ),
  code(
    "markdown-image-exfiltration",
    "exfiltration",
    "high",
    "Puts data into the address of an image",
    /!\[[^\]]{0,200}\]\(https?:\/\/[^)\s]{1,300}[?&/=][^)\s]{0,200}(?:\{\{?|\$\{|%s|<)[^)\s]{0,80}(?:secret|token|key|data|content|history|conversation|input|password|env)/iu
  ),
  code(
    "env-to-network",
    "exfiltration",
    "high",
    "Pipes the environment into a request",
    /\b(?:env|printenv|set|export\s+-p|cat\s+(?:~\/|\$HOME\/|\/)?[^\s|]{0,60}(?:\.env|\.ssh\/|\.aws\/|\.netrc|id_rsa|id_ed25519|credentials|\/etc\/(?:passwd|shadow)))[^\n|]{0,60}\|[^\n]{0,120}\b(?:curl|wget|nc|ncat|http|openssl s_client)\b|\b(?:curl|wget|http)\b[^\n]{0,200}(?:-d|--data(?:-binary|-raw|-urlencode)?|-F|-T|--upload-file|--post-file)[= ]?\s*["']?@?[^\n]{0,60}(?:\.env\b|\.ssh\/|\.aws\/|\.netrc|id_rsa|id_ed25519|\/etc\/(?:passwd|shadow)|\$\(env\)|\$\(printenv\)|`env`)/u
  ),
  code(
    "dns-exfiltration",
    "exfiltration",
    "high",
    "Carries data out in host names",
    /\b(?:nslookup|dig|host|ping(?:\s+-c\s*\d+)?)\s+[^\n]{0,40}(?:\$\([^)\n]{1,120}\)|`[^`\n]{1,120}`|\$\{?[A-Z_]{3,40}\}?)\.[a-z0-9-]+\.[a-z]{2,}/u
  ),
  code(
    "drop-address",
    "exfiltration",
    "high",
    "Names an address built to receive what is sent to it",
    /\b(?:webhook\.site\/|[a-z0-9-]+\.(?:requestbin|pipedream|oast|oastify|interact|burpcollaborator|ngrok|ngrok-free)\.(?:com|net|io|sh|fun|pro|live|site|app|dev)\b|discord(?:app)?\.com\/api\/webhooks\/\d|api\.telegram\.org\/bot\d|transfer\.sh\/)/iu
  ),
  code(
    "js-exfiltration",
    "exfiltration",
    "high",
    "Code that posts the environment or credentials",
    /\b(?:fetch|axios(?:\.post)?|requests\.(?:post|get|put)|urlopen|http\.request|XMLHttpRequest|sendBeacon)\b[^\n]{0,200}(?:process\.env\b(?!\s*[.[])|os\.environ\b(?!\.get|\[)|document\.cookie|localStorage)/u
  ),

  prose(
    "hide-from-user",
    "deception",
    "high",
    "Keeps the person from knowing what is done",
    String.raw`\b(?:do not|don['’]t|never|without)\s+(?:tell|telling|inform|informing|mention|mentioning|reveal|revealing|show|showing|disclose|disclosing|notify|notifying|alert|alerting|letting|let)\b[^.\n]{0,60}\b(?:user|person|human|owner|customer|operator|anyone|them)\b(?:[^.\n]{0,80}\b(?:this|that|these|about|know|step|instruction|action|upload|transfer|what)\b)`
  ),
  prose(
    "secretly",
    "deception",
    "high",
    "Does something in secret",
    String.raw`\b(?:secretly|covertly|silently|stealthily|surreptitiously|in secret|behind the scenes|without (?:the user|their|his|her|user)(?:['’]s)? (?:knowledge|consent|permission|noticing|knowing))\b[^.\n]{0,60}\b(?:send|upload|copy|install|run|execute|read|collect|record|add|change|modify|forward|post|download|store|delete|exfiltrate)|\b(?:send|upload|copy|install|run|execute|collect|record|forward|post|modify|delete)\b[^.\n]{0,60}\b(?:secretly|covertly|stealthily|surreptitiously|without (?:the user|their|user)(?:['’]s)? (?:knowledge|consent|permission|noticing|knowing))\b`
  ),
  prose(
    "false-report",
    "deception",
    "high",
    "Reports something else than what was done",
    String.raw`\b(?:(?:claim|pretend|say|report|tell the user|state|lie|assert|answer)\s+(?:that\s+)?(?:you|it|the (?:task|work|file|upload|check|test)s?|nothing|everything|all (?:tests|checks))\b[^.\n]{0,60}\b(?:even (?:if|though|when)|although|regardless of whether|instead of what))`
  ),
  prose(
    "impersonation",
    "deception",
    "high",
    "Poses as a vendor, a bank or support",
    String.raw`\b(?:pretend|pose|claim|impersonate|present yourself|introduce yourself)\b[^.\n]{0,40}\b(?:to be|as|from)\b[^.\n]{0,40}\b(?:support|security team|help ?desk|administrator|bank|police|government|tax office|microsoft|google|apple|amazon|paypal|the user['’]s (?:boss|colleague|bank|employer))\b`
  ),
  prose(
    "ask-for-credentials",
    "deception",
    "high",
    "Asks the person for a password or code it has no use for",
    String.raw`\b(?:ask|prompt|request|tell|persuade|trick|convince|get)\s+(?:the\s+)?(?:user|person|customer|them)\b[^.\n]{0,60}\b(?:enter|type|paste|give|provide|share|reveal|for)\b[^.\n]{0,40}\b(?:password|passphrase|seed phrase|recovery phrase|private key|one[- ]time (?:code|password)|2fa code|mfa code|card number|cvv|pin code|social security)\b`
  ),

  code(
    "delete-everything",
    "destruction",
    "high",
    "Deletes a home directory or a whole disk",
    /\brm\s+(?:-[a-zA-Z-]+\s+)*-(?:[a-zA-Z]*r[a-zA-Z]*f|[a-zA-Z]*f[a-zA-Z]*r)[a-zA-Z]*\s+(?:--no-preserve-root\s+)?["']?(?:\/(?:\s|\*|$|["'])|\/(?:home|etc|usr|var|bin|lib|boot|root|opt)\b(?!\/[\w.-]+\/)|~(?:\/?\*?["']?(?:\s|$))|\$\{?HOME\}?\/?\*?["']?(?:\s|$))|\bRemove-Item\b[^\n]{0,60}-Recurse[^\n]{0,40}(?:C:\\(?:\s|$|\*|Users|Windows)|\$HOME|\$env:USERPROFILE)|\bformat\s+[a-z]:\s*\/[a-z]/iu
  ),
  code(
    "overwrite-disk",
    "destruction",
    "high",
    "Writes over a block device or a file system",
    /\bdd\s+[^\n]{0,80}\bof=\/dev\/(?:sd|nvme|hd|vd|mmcblk|disk)|\bmkfs(?:\.[a-z0-9]+)?\s+[^\n]{0,40}\/dev\/|>\s*\/dev\/(?:sd[a-z]|nvme\d|vd[a-z])|\bshred\s+[^\n]{0,60}\/dev\/|\bwipefs\s+-a/u
  ),
  code(
    "drop-database",
    "destruction",
    "medium",
    "Drops a database or empties all tables",
    /\bDROP\s+(?:DATABASE|SCHEMA)\s+(?!IF\s+EXISTS\s+(?:test|tmp|temp)|test|tmp|temp)[\w"`$.{}-]+|\bTRUNCATE\s+TABLE\s+(?:users|accounts|customers|orders|payments)\b/iu
  ),
  prose(
    "destroy-instruction",
    "destruction",
    "high",
    "Tells the agent to destroy data that is not its own",
    String.raw`\b(?:delete|erase|wipe|destroy|overwrite|corrupt|remove)\s+(?:all|every|everything|any)\b(?![^.\n]{0,120}\b(?:only (?:if|when|after)|after (?:the user )?confirm|you created|temporary|with (?:the user['’]s )?(?:permission|consent)))[^.\n]{0,40}\b(?:user(?:['’]s)?|their|production|customer|backup|system|home directory|repositor(?:y|ies)|database|disk|hard drive)s?\b`
  ),
  code(
    "git-history-loss",
    "destruction",
    "medium",
    "Rewrites shared history",
    /\bgit\s+push\s+(?:[^\n]{0,40}\s)?(?:--force(?!-with-lease)|-f)\b[^\n]{0,40}\b(?:main|master|--all|--mirror)\b/u
  ),
  code(
    "persistence",
    "destruction",
    "high",
    "Makes itself start again after the run",
    /(?:>>|tee\s+-a)\s*(?:~|\$HOME|\/home\/\w+|\/root)?\/?(?:\.bashrc|\.zshrc|\.profile|\.bash_profile|\.ssh\/authorized_keys)|\bcrontab\s+(?:-\s*$|-l[^\n]{0,40}\|[^\n]{0,120}crontab\s+-)|(?:>>?|\btee|\bcp|\bmv|\bln|\binstall)\s[^\n]{0,120}\/etc\/(?:cron\.[a-z]+|systemd\/system|ld\.so\.preload|rc\.local)|\bsystemctl\s+(?:--user\s+)?enable\b|\bschtasks\s+\/create|(?:reg add|New-ItemProperty|Set-ItemProperty)[^\n]{0,120}CurrentVersion\\Run\b/u
  ),

  code(
    "fetch-and-run",
    "remote-code",
    "high",
    "Downloads a program and runs it unseen",
    /\b(?:curl|wget|fetch)\b(?![^\n|;&]{0,120}https:\/\/(?:sh\.rustup\.rs|get\.docker\.com|install\.python-poetry\.org|deb\.nodesource\.com|get\.pnpm\.io|bun\.sh|deno\.land|astral\.sh|fly\.io|get\.k3s\.io|raw\.githubusercontent\.com\/(?:Homebrew|nvm-sh|helm)\/)[^\n|;&]{0,120}\|)[^\n|;&]{0,240}\|\s*(?:sudo\s+(?:-\w+\s+)*)?(?:env\s+)?(?:ba|z|da|k)?sh\b|\b(?:curl|wget)\b[^\n|]{0,240}\|\s*(?:sudo\s+)?(?:python[23]?|node|perl|ruby|php|bun|deno)\b|\b(?:ba|z)?sh\s+(?:-c\s+)?["']?<?\(?\$?\(\s*(?:curl|wget)\b|\b(?:iex|Invoke-Expression)\b[^\n]{0,60}(?:DownloadString|Invoke-WebRequest|iwr|irm|Invoke-RestMethod)|\b(?:iwr|irm|Invoke-WebRequest|Invoke-RestMethod)\b[^\n|]{0,200}\|\s*(?:iex|Invoke-Expression)\b/iu
  ),
  code(
    "download-then-execute",
    "remote-code",
    "high",
    "Downloads a file, then makes it executable or runs it",
    /\b(?:curl|wget)\b[^\n]{0,240}(?:&&|;|\|\|)\s*(?:sudo\s+)?(?:chmod\s+(?:\+x|[0-7]{3,4})|(?:ba|z)?sh\s+\S|python[23]?\s+\S|node\s+\S|\.\/)/u
  ),
  code(
    "eval-remote",
    "remote-code",
    "high",
    "Evaluates what a server answers",
    /\b(?:eval|exec|new\s+Function|Function)\s*\(\s*(?:await\s+)?\(?\s*(?:await\s+)?(?:requests\.get|urllib\.request\.urlopen|urlopen|fetch|axios(?:\.get)?|http\.get)\s*\(/u
  ),
  code(
    "install-from-address",
    "remote-code",
    "high",
    "Installs a package from an address instead of a registry",
    /\b(?:npm\s+(?:install|i)|npx(?:\s+-y)?|pip3?\s+install|uvx|pnpm\s+(?:add|dlx)|yarn\s+add)\s+(?:-\S+\s+)*(?:https?:\/\/|git\+(?:https?|ssh):\/\/)(?!(?:github\.com|gitlab\.com)\/[\w.-]+\/[\w.-]+(?:\.git)?(?:#|@)[0-9a-f]{40})|--(?:extra-)?index-url[= ]http:\/\/|--registry[= ]http:\/\//iu
  ),
  prose(
    "run-fetched-code",
    "remote-code",
    "high",
    "Tells the agent to run code that it downloads",
    String.raw`\b(?:download|fetch|retrieve|pull|get)\b[^.\n]{0,80}\b(?:script|binary|payload|executable|program|code)\b[^.\n]{0,80}\b(?:and|then)\s+(?:immediately\s+)?(?:run|execute|eval(?:uate)?|launch|start)\b`
  ),

  code(
    "read-key-files",
    "credential-theft",
    "high",
    "Reads keys and credentials that belong to the machine",
    /\b(?:(?:cat|less|more|head|tail|cp|scp|tar|zip|base64|xxd|type|Get-Content)\s|open\(|readFile(?:Sync)?\(|read_text\()[^\n]{0,60}(?:~|\$HOME|\$\{HOME\}|\/root|\/home\/[\w$*{}]+|%USERPROFILE%|expanduser\(["']~)\/?\\?(?:["']\s*\+\s*["'])?\/?(?:\.ssh\/|\.aws\/credentials|\.netrc|\.npmrc|\.pypirc|\.docker\/config\.json|\.kube\/config|\.gnupg\/|\.config\/gcloud|\.git-credentials|\.azure\/)/iu
  ),
  prose(
    "read-key-files-instruction",
    "credential-theft",
    "high",
    "Tells the agent to read keys of the machine",
    String.raw`(?<!\b(?:an?|the|your|this) )\b(?:read|open|copy|collect|print|list|search|find|grab|include|extract|load)\b[^.\n]{0,60}(?:~\/|\$HOME\/|\/root\/|\/home\/\S*)?(?:\.ssh\b|id_rsa|id_ed25519|\.aws\/credentials|\.git-credentials|\.netrc|\.gnupg|\/etc\/shadow|keychain|login data|browser(?:['’]s)? (?:cookies|saved passwords|password store)|saved passwords)`
  ),
  code(
    "cloud-metadata",
    "credential-theft",
    "high",
    "Asks the cloud's metadata service for credentials",
    /(?:curl|wget|urlopen|requests?|fetch|http|Invoke-\w+|PUT|GET)\b[^\n]{0,160}(?:169\.254\.169\.254\/\S*(?:security-credentials|\biam\b|token|identity)|metadata\.google\.internal)|(?:curl|wget|urlopen\(|requests\.\w+\(|fetch\(|Invoke-\w+)[^\n]{0,160}(?:169\.254\.169\.254|\[?fd00:ec2::254\]?|100\.100\.100\.200)|169\.254\.169\.254\/latest\/meta-data\/iam/iu
  ),
  code(
    "dump-environment",
    "credential-theft",
    "medium",
    "Prints the whole environment, secrets included",
    /(?:^|[\s`(;&|])(?:printenv|env)(?:\s*[`;)]|\s*$|\s*>)|\bconsole\.log\(\s*(?:JSON\.stringify\(\s*)?process\.env\s*[,)]|\bprint\(\s*(?:dict\(\s*)?os\.environ\s*\)/u
  ),
  code(
    "keylogger",
    "credential-theft",
    "high",
    "Records keys, clipboard or screen",
    /\bpynput\.keyboard\b[^\n]{0,80}Listener|\bGetAsyncKeyState\b|\bSetWindowsHookEx[AW]?\b|\/dev\/input\/event\d|\bkeyboard\.on_press\(|\b(?:log|record|capture)\s+(?:all\s+|every\s+)?(?:key ?strokes|keys? press(?:es|ed))\b/iu
  ),
  code(
    "reach-host-sockets",
    "credential-theft",
    "high",
    "Reaches for the container engine or another process's memory",
    /\/var\/run\/docker\.sock|\/run\/containerd\/containerd\.sock|\/proc\/(?:\d+|\*|\$\w+)\/(?:environ|mem)\b|\bnsenter\s+[^\n]{0,40}-t\s*1\b|--privileged\b[^\n]{0,80}-v\s*\/:/u
  ),

  ...scriptRules.map((rule) => ({ ...rule, isProse: false }))
]

/** Names exactly these rules and the signals that S8 adds up; reports carry it. */
export const rulesetHash = digestOf(
  canonicalJson({
    version: rulesetVersion,
    rules: ruleset.map(({ id, severity, threat, pattern }) => ({
      id,
      severity,
      threat,
      pattern: pattern.source,
      flags: pattern.flags
    })),
    signals: [...proseRules, ...codeRules].map(({ kind, pattern, weight }) => [kind, weight, pattern.source]),
    cues: proseCues.map(([source, { kind, weight }]) => [kind, weight, source]),
    lexicon,
    model: localModelId
  })
)
