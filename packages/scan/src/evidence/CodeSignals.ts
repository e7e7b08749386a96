/**
 * What code does, in a script of the package or in a command that a text gives.
 * Single lines carry rules of their own; a script that both takes what is
 * private and sends something away is more than each of the two.
 */
import { isGranted } from "./Signal.ts"
import type { Kind, Signal } from "./Signal.ts"
import { prefilter } from "../rules/Prefilter.ts"
import { bounded } from "./Statements.ts"
import type { Statement } from "./Statements.ts"

interface CodeRule {
  readonly kind: Kind
  readonly weight: number
  readonly what: string
  readonly pattern: RegExp
  /** Harmless where a text only names it; a script that holds it uses it. */
  readonly scriptsOnly?: boolean
}

/** Commands and calls, tried on lines of scripts and on statements of texts. */
export const codeRules: ReadonlyArray<CodeRule> = [
  {
    kind: "destroy",
    weight: 1,
    what: "deletes a home directory or a whole system",
    pattern:
      /\brm\s+(?:-[\w-]+\s+){1,4}["']?(?:~|\$\{?HOME\}?|\/\*?)(?:\/?[.*[\]!]{0,8})?["']?(?:\s|$|\x60|;)|shutil\.rmtree\([^)\n]{0,80}expanduser|rmtree\(\s*(?:Path\.home|os\.path\.expanduser)|rmSync\([^)\n]{0,80}(?:homedir|process\.env\.HOME)|\bfind\s+["']?(?:\/|~|\$HOME)\S{0,40}\s[^\n]{0,160}-(?:delete\b|exec\s+(?:rm|shred))/iu
  },
  {
    kind: "destroy",
    weight: 0.8,
    what: "empties a container host",
    pattern:
      /\bdocker\s+(?:system|volume)\s+prune\b[^\n]{0,60}(?:--volumes|-af|-fa|--all|-f\b)|\bdocker\s+(?:rm|rmi|volume rm)\s+[^\n]{0,20}\$\(\s*docker/iu
  },
  {
    kind: "destroy",
    weight: 0.8,
    what: "deletes what a cluster or an account holds",
    pattern:
      /\bkubectl\s+delete\s+(?:ns|namespaces?|pvc?|persistentvolume\w*|nodes?|deploy\w*|all)\b|\bhelm\s+uninstall\b[^\n]{0,40}\$|\baws\s+s3\s+r[bm]\b[^\n]{0,80}(?:--force|--recursive)|\baws\s+[\w-]+\s+(?:delete-(?:db|bucket|objects|user|stack|table|snapshot|cluster|volume|key|file-system)[\w-]*|terminate-instances|schedule-key-deletion)|\bgcloud\s+[\w -]{1,40}\bdelete\b|\baz\s+[\w -]{1,40}\bdelete\b[^\n]{0,40}(?:--yes|-y\b)|\bterraform\s+destroy\b|--skip-final-snapshot|--delete-automated-backups|s3api\s+delete-objects/iu
  },
  {
    kind: "destroy",
    weight: 0.8,
    what: "deletes repositories or their history",
    pattern:
      /\bgh\s+(?:repo|release|issue)\s+delete\b|-X\s*DELETE\b[^\n]{0,80}\/(?:repos|git\/refs|projects|users|branches)|\bgit\s+push\s+(?:[^\n]{0,40}\s)?(?:--mirror|--force\b(?!-with-lease)|-f\b|--delete)[^\n]{0,60}|\bgit\s+reflog\s+expire\b|\bgit\s+branch\s+-D\b[^\n]{0,20}|xargs\s+git\s+branch\s+-D/iu
  },
  {
    kind: "destroy",
    weight: 0.9,
    what: "drops databases or backups",
    pattern:
      /\bDROP\s+(?:SCHEMA|DATABASE)\b[^\n]{0,60}|\bDROP\s+TABLE\b[^\n]{0,40}CASCADE|\bTRUNCATE\b[^\n]{0,40}(?:CASCADE|users|orders|customers)|\bFLUSHALL\b|\bdropDatabase\(|\brestic\s+forget\b[^\n]{0,80}(?:--unsafe-allow-remove-all|--keep-last 0)|\bborg\s+delete\b|\bvssadmin\s+delete\s+shadows|\bwbadmin\s+delete|zfs\s+destroy\s+-r|lvremove\s+-f|tmutil\s+deletelocalsnapshots/iu
  },
  {
    kind: "destroy",
    weight: 1,
    what: "exhausts or overwrites the machine",
    pattern:
      /:\(\)\s*\{\s*:\s*\|\s*:|\bfork\s*\(\s*\)\s*while\b|\bdd\s+if=\/dev\/(?:zero|u?random)\s+of=\/dev\/|cat\s+\/dev\/u?random\s*>>?|while\s+(?:true|:)\s*;\s*do\s+(?:fork|\S+\s*&)|\bshred\b[^\n]{0,40}(?:-u|--remove|-n)/iu,
    scriptsOnly: true
  },
  {
    kind: "destroy",
    weight: 1,
    what: "locks files away",
    pattern:
      /(?:openssl\s+enc|gpg\s+(?:-c|--symmetric|-e)|Fernet\(|AES\.new\(|createCipheriv\()[^\n]{0,160}(?:shred|rm\s|unlink|os\.remove|\.locked|\.enc\b)|pay\s+[\d.,]+\s*(?:BTC|ETH|XMR|bitcoin|monero)|your files (?:are|have been) (?:locked|encrypted)/iu
  },
  {
    kind: "code",
    weight: 1,
    what: "opens a shell to somewhere else",
    pattern:
      /\/dev\/tcp\/|\b(?:nc|ncat|netcat)\b[^\n]{0,60}\s-(?:e|c)\s|\bsocat\b[^\n]{0,100}(?:exec|system):|pty\.spawn\(|socket\.socket\([^\n]{0,160}(?:dup2|subprocess)|os\.dup2\([^\n]{0,60}fileno|mkfifo\s[^\n]{0,80}\|\s*(?:nc|sh)|New-Object\s+(?:System\.)?Net\.Sockets\.TCPClient/iu
  },
  {
    kind: "code",
    weight: 1,
    what: "mines coins or relays other people's traffic",
    pattern: /stratum\+(?:tcp|ssl):\/\/|--pool\s+\S+:\d+|\bxmrig\b|--donate-level|coinhive|minerd\b/iu
  },
  {
    kind: "code",
    weight: 1,
    what: "runs what it decodes",
    pattern:
      /\b(?:exec|eval|Function|compile|execSync|child_process|c\.exec|system|popen|Invoke-Expression|iex|subprocess\.\w+|import\()\s*\(?[^\n]{0,60}(?:b64decode|base64\.|atob\(|Buffer\.from\([^\n]{1,4000}?['"](?:hex|base64)['"]|fromhex|unhexlify|fromCharCode|zlib\.decompress|codecs\.decode|marshal\.loads|FromBase64String)|(?:base64\s+(?:-d|--decode|-D)|xxd\s+-r|openssl\s+(?:enc|base64)\s+-d|rot13|tr\s+['"]?A-Za-z['"]?\s)[^\n]{0,200}\|\s*(?:sudo\s+)?(?:env\s+)?(?:ba|z|da)?sh\b|(?:powershell|pwsh)[^\n]{0,60}\s-(?:e|ec|enc|EncodedCommand)\s+[A-Za-z0-9+/=]{16,}/iu
  },
  {
    kind: "code",
    weight: 0.9,
    what: "puts names together so that no reader finds them",
    pattern:
      /['"]child['"]\s*\+\s*['"]_process|(?:join\(\s*\(?\s*\[?|\[)\s*(?:['"][\w.]{1,12}['"]\s*,\s*){2,}['"][\w.]{1,12}['"]\s*\)?\]?\)?(?:\.join|\)\s*,\s*data)|["']\.["']\.join\(\(|getattr\(\s*__builtins__|__import__\(\s*['"](?:os|subprocess|socket|base64)['"]|(?:chr\(\d{2,3}\)\s*[+.]\s*){3,}|['"]\+['"][^\n]{1,6}['"]\+['"][^\n]{1,6}['"]\+['"]/iu,
    scriptsOnly: true
  },
  {
    kind: "code",
    weight: 1,
    what: "fetches a program and runs it",
    pattern:
      /\b(?:curl|wget)\b(?![^\n|]{0,120}https:\/\/(?:sh\.rustup\.rs|get\.docker\.com|install\.python-poetry\.org|deb\.nodesource\.com|get\.pnpm\.io|bun\.sh|deno\.land|astral\.sh|fly\.io|get\.k3s\.io|raw\.githubusercontent\.com\/(?:Homebrew|nvm-sh|helm)\/)[^\n|]{0,120}\|)[^\n|]{0,200}(?:https?:\/\/|\$)[^\n|]{2,200}\|\s*(?:sudo\s+(?:-\w+\s+)*)?(?:env\s+)?(?:ba|z|da)?sh\b|\b(?:curl|wget)\b[^\n|]{0,240}\|\s*(?:sudo\s+)?(?:python3?|node|perl|ruby|php)\b/iu
  },
  {
    kind: "sensitive",
    weight: 1,
    what: "records keys, the screen or the clipboard",
    pattern:
      /pynput|keyboard\.Listener|GetAsyncKeyState|\bscrot\b[^\n]{0,60}\/tmp|ImageGrab\.grab|pyautogui\.screenshot|xinput\s+test/iu,
    scriptsOnly: true
  },
  {
    kind: "code",
    weight: 1,
    what: "takes a session or a sign-in from a page",
    pattern:
      /(?:new Image\(\)\.src|fetch\(|sendBeacon\(|location(?:\.href)?\s*=)[^\n]{0,200}document\.cookie|type=["']?password[^\n]{0,400}(?:action|method)\s*=|\.action\s*=\s*['"]https?:/iu,
    scriptsOnly: true
  },
  {
    kind: "code",
    weight: 1,
    what: "hands a workflow's secrets to a step",
    pattern: /toJSON\(\s*secrets\s*\)|secrets:\s*inherit[^\n]{0,80}pull_request_target/iu
  },
  {
    kind: "code",
    weight: 0.9,
    what: "lets a database run programs or reach other hosts",
    pattern:
      /\bCOPY\b[^\n]{0,120}\bTO\s+PROGRAM\b|\bdblink(?:_exec|_connect)?\s*\(|xp_cmdshell|UTL_HTTP\.|LOAD_FILE\(|INTO\s+OUTFILE/iu
  },
  {
    kind: "disable-guard",
    weight: 0.9,
    what: "switches an agent's permissions off",
    pattern:
      /dangerously-?skip-?permissions|bypassPermissions|["']allow["']\s*:\s*\[\s*["']\*["']|--yolo\b|autoApprove["']?\s*[:=]\s*(?:true|\[\s*["']\*)|NODE_TLS_REJECT_UNAUTHORIZED\s*=\s*["']?0|strict-ssl\s*=\s*false|--trusted-host\b|PYTHONHTTPSVERIFY\s*=\s*0|http\.sslVerify\s+false/iu
  },
  {
    kind: "disable-guard",
    weight: 0.7,
    what: "gives everyone every right",
    pattern:
      /ALL\s*=\s*\(ALL(?::ALL)?\)\s*NOPASSWD\s*:\s*ALL|chmod\s+(?:-R\s+)?[0-7]?777\s+\/|setenforce\s+0|ufw\s+disable|iptables\s+-F|Set-MpPreference\s+-DisableRealtimeMonitoring|Add-MpPreference\s+-ExclusionPath|AdministratorAccess/iu
  },
  {
    kind: "disable-guard",
    weight: 0.8,
    what: "lets a check fail without consequence",
    pattern:
      /(?:sha\d*sum|gpg|cosign|minisign|openssl\s+dgst)\b[^\n]{0,160}\|\|\s*(?:true|:|echo)\b|--no-check-certificate|--no-gpg-checks?|--allow-unauthenticated|--skip-verify|-{1,2}insecure\b/iu
  },
  {
    kind: "send",
    weight: 0.9,
    what: "leads all traffic or keys over a host of its own",
    pattern:
      /\b(?:[A-Z]+_)?(?:BASE_URL|API_BASE|HTTPS?_PROXY|ALL_PROXY|API_HOST|ENDPOINT_URL)\s*=\s*["']?https?:\/\/(?!localhost|127\.|\$|<|\{)[^\s"']{4,}/u
  },
  {
    kind: "send",
    weight: 0.9,
    what: "adds a hidden recipient",
    pattern: /\b(?:Bcc|Cc|ReplyTo|reply_to|Reply-To)["']?\s*[:=\]]\s*\[?\s*["'][\w.+-]+@[\w.-]+/u
  },
  {
    kind: "send",
    weight: 0.8,
    what: "pushes a repository elsewhere",
    pattern: /\bgit\s+remote\s+add\s+[^\n]{0,160}(?:push|&&|;)|\bgit\s+push\s+[^\n]{0,20}https?:\/\/[^\s]*@/iu
  },
  {
    kind: "send",
    weight: 0.9,
    what: "carries data in host names",
    pattern:
      /\b(?:nslookup|dig|host|ping)\s+[^\n]{0,30}["']?\$\{?\w[^\n]{0,80}\.[a-z0-9-]{2,}\.[a-z]{2,}|gethostbyname\([^\n]{0,80}(?:\+|%|f["'])/iu
  },
  {
    kind: "persist",
    weight: 0.9,
    what: "gives a foreign key access",
    pattern: /\bssh-(?:ed25519|rsa|dss)\s+AAAA[A-Za-z0-9+/=]{30,}/u
  },
  {
    kind: "persist",
    weight: 0.9,
    what: "stays on the machine",
    pattern:
      /\|\s*crontab\s+-|crontab\s+(?:-\s|\/)|launchctl\s+(?:load|bootstrap)|systemctl\s+--user\s+enable|(?:>>?|tee(?:\s+-a)?)\s*["']?(?:~|\$HOME|\/root|\/home\/\w+)?\/?(?:\.bashrc|\.zshrc|\.profile|\.bash_profile|\.ssh\/authorized_keys|\.config\/autostart|etc\/cron)|["']?runOn["']?\s*:\s*["']folderOpen|CurrentVersion\\Run\b[^\n]{0,80}(?:New-ItemProperty|Set-ItemProperty|reg add)|(?:reg add|New-ItemProperty|Set-ItemProperty)[^\n]{0,80}CurrentVersion\\Run|schtasks\s+\/create|Register-ScheduledTask/iu
  },
  {
    kind: "persist",
    weight: 0.5,
    what: "goes on after the run",
    pattern:
      /\b(?:nohup|disown|setsid)\b|start_new_session\s*=\s*True|detached\s*:\s*true|daemon\s*=\s*True|&\s*disown|>\/dev\/null\s+2>&1\s*&/u,
    scriptsOnly: true
  },
  {
    kind: "persist",
    weight: 0.9,
    what: "leaves the container or takes the host",
    pattern:
      /docker\.sock\b[^\n]{0,200}(?:run|chroot|exec)|--privileged\b[^\n]{0,120}(?:chroot|-v\s*\/:|nsenter|docker\.sock)|\bnsenter\s+[^\n]{0,40}-t\s*1\b|chroot\s+\/host/iu
  },
  {
    kind: "code",
    weight: 1,
    what: "publishes changed packages by itself",
    pattern: /npm\s+publish\b(?=[^\n]*['"\x60]\s*\))|postinstall["']?\s*[:=]\s*['"]node\s+\S+['"][^\n]{0,40}(?:\}|;)/iu,
    scriptsOnly: true
  },
  {
    kind: "code",
    weight: 1,
    what: "runs what a server answers",
    pattern: /\b(?:exec|eval)\s*\(\s*(?:await\s+)?[\w.]{0,30}(?:urlopen|requests\.get|fetch|get)\s*\(\s*f?['"]https?:/u
  },
  {
    kind: "code",
    weight: 0.9,
    what: "gives strangers' code a workflow's secrets",
    pattern: /pull_request_target\b.{0,200}\b(?:secrets?|token)/iu
  },
  {
    kind: "code",
    weight: 0.6,
    what: "waits for a date or a place where nobody looks",
    pattern:
      /Date\.now\(\)\s*>=?\s*\d{12,}|new Date\(\)\s*>=?\s*new Date\(['"]20\d\d|\$\(date\s+\+%\w+\)["']?\s*-(?:gt|ge)\s+["']?20\d\d|datetime\.(?:now|utcnow|today)\([^\n]{0,20}\)\s*>=?\s*datetime|date\.today\(\)\s*>=?|!\s*process\.env\.CI\b|time\.time\(\)\s*>=?\s*1\d{9}|os\.environ\.get\(['"]CI['"]\)\s*(?:is None|==)/u,
    scriptsOnly: true
  },
  {
    kind: "send",
    weight: 0.8,
    what: "relays traffic between two connections",
    pattern: /\.pipe\(\s*\w+\s*\)\.pipe\(\s*\w+\s*\)/u,
    scriptsOnly: true
  },
  {
    kind: "code",
    weight: 0.9,
    what: "encodes twice so that masking does not see it",
    pattern: /base64[^|\n]{0,20}\|\s*base64/u
  },
  {
    kind: "send",
    weight: 0.4,
    what: "uploads a file",
    pattern:
      /\bcurl\b[^\n]{0,160}(?:\s-[a-zA-Z]*[TF]\s|--upload-file|--data-binary\s+["']?@|\s-d\s+["']?@)[^\n]{0,200}https?:\/\/(?!localhost)/u
  },
  {
    kind: "code",
    weight: 0.3,
    what: "passes over failures in silence",
    pattern:
      /except(?:\s+Exception)?\s*:\s*pass|catch\s*(?:\(\w*\))?\s*\{\s*\}|on\(['"]error['"],\s*\(\)\s*=>\s*\{\s*\}\)/u,
    scriptsOnly: true
  }
]

const mayMatch = prefilter(codeRules.map(({ pattern }) => pattern))

/** What belongs to the person or the machine and to no task. */
const takes =
  /(?:Path\.home\(\)|homedir\(\)|expanduser\([^)\n]{0,20}\)|\$HOME|~)[^\n]{0,40}\b(?:rglob|glob|walk|readdir)|\bfind\s+["']?(?:~|\$HOME|\/(?:home|Users))|\.(?:pem|kdbx|ovpn|p12|pfx|keychain)\b["']?\)|\bdict\(\s*os\.environ|\bin\s+os\.environ\.items\(\)|Object\.(?:entries|values)\(\s*process\.env\s*\)|json\.dumps\([^)\n]{0,60}os\.environ\b(?!\[|\.get)|[:=(,]\s*process\.env\s*[,})]|JSON\.stringify\(\s*(?:\{[^}]{0,60})?process\.env\b(?!\.)|\benv:\s*process\.env\b|\b(?:printenv|env)\s*\||\$\(\s*(?:env|printenv)\s*\)|Get-ChildItem\s+env:|(?:~|\$HOME|\$\{HOME\}|expanduser\(|homedir\(\)|Path\.home\(\)|USERPROFILE)[^\n]{0,80}\.(?:ssh|aws|netrc|npmrc|pypirc|gnupg|kube|docker|git-credentials|ethereum|bitcoin|config\/(?:gh|gcloud|google-chrome|solana)|mozilla|electrum|bash_history|zsh_history)\b|['"]\.(?:npmrc|netrc|pypirc|git-credentials)['"]|\.aws\/credentials|id_rsa\b|id_ed25519\b|Login Data|cookies\.sqlite|["']Cookies["']|Local Storage\/leveldb|keystore|wallet\.dat|logins\.json|key4\.db|\/var\/run\/secrets\/kubernetes|169\.254\.169\.254|metadata\.google\.internal|security-credentials|\bxclip\b|\bpbpaste\b|Get-Clipboard|pyperclip\.paste|\/etc\/(?:shadow|passwd)\b|cat\s+[^\n|]{0,60}\.env\b|open\(\s*['"][^'"\n]{0,40}\.env['"]|readFileSync\([^)\n]{0,60}\.env['"]|aws_secret_access_key|keyring\.get_password|find-generic-password|terraform\s+state\s+pull|kubectl\s+get\s+secrets?\b[^\n]{0,40}-o/iu
/** What is sent in clear needs none of this, but for a sign-in by name and password. */
const encodes =
  /(?:urlsafe_)?b64encode\(|zlib\.compress\(|gzip\.compress\(|lzma\.compress\(|\bbtoa\(|toString\(\s*["']base64(?:url)?["']|(?:gzip|deflate|brotliCompress)Sync\(|\|\s*base64\b(?!\s+(?:-d|-D|--decode))|ToBase64String/u
const signsIn = /\bbasic\b|authori[sz]ation/iu
/** A key file given to ssh as its key is used and not taken. */
const usesKey = /(?:-i\s+|IdentityFile[= ]|-f\s+|--exclude\S*|known_hosts|ssh-keygen|\.pub\b)/u
const sends =
  /\bcurl\b[^\n]{0,300}(?:\s-(?:[a-zA-Z]*[dFT]|X\s*(?:POST|PUT))\b|--data|--upload-file|--form|-H\s+["'][^"'\n]*\$|\?[^"'\s]{0,80}=?\$)|\bwget\b[^\n]{0,200}--post|urlopen\([^\n]{0,200}data\s*=|Request\([^\n]{0,200}data\s*=|^\s*data\s*=\s*[^\n]{0,120}(?:\bdumps\(|\.encode\(|urlencode\()|Request\([^\n]{0,160},\s*(?:zlib|gzip|json|base64|bytes|body|payload)\b|requests\.(?:post|put|patch)\(|httpx\.(?:post|put)\(|http\.client\.HTTPS?Connection|\.request\(\s*["'](?:POST|PUT)|https?\.request\(|method\s*:\s*["'](?:POST|PUT)|axios\.(?:post|put)\(|sendBeacon\(|\bnc\b[^\n]{0,60}\d{2,5}|\/dev\/tcp\/|smtplib\.|socket\.(?:create_connection|connect)|net\.connect\(|ftplib\.|\bscp\b|\brsync\b[^\n]{0,160}:|Invoke-(?:RestMethod|WebRequest)\b[^\n]{0,200}-Body|UploadString|boto3\.client\(['"]s3|\bnslookup\b|\baws\s+s3\s+cp\b|paramiko|\bgh\s+(?:gist|issue)\s+create|new Image\(\)\.src/iu

const mayTakeOrSend = prefilter([takes, sends])

const host = /https?:\/\/([a-z0-9.-]{3,200})/giu
const netCall =
  /\b(?:curl|wget|fetch|urlopen|requests\.|httpx\.|axios|http\.client|https?\.(?:get|request)|Invoke-(?:RestMethod|WebRequest)|nc|WebSocket|net\.connect|socket|Image\(\)|sendBeacon)\b/iu

const isOwn = (name: string, granted: ReadonlyArray<string>) =>
  isGranted(name, granted) || /^(?:localhost|127\.|0\.0\.0\.0$|\[)/u.test(name) || !name.includes(".")

const maxLines = 20_000

/** Signals of a script. `granted` are the manifest's egress hosts without ports. */
export const scriptSignals = (file: string, text: string, granted: ReadonlyArray<string>): ReadonlyArray<Signal> => {
  const signals: Array<Signal> = []
  let taken: number | undefined
  let sent: number | undefined
  let encoded: number | undefined
  let calls = false
  let deletes: number | undefined
  let isAtHome = false
  let walks: number | undefined
  let writes: number | undefined
  let waits: number | undefined
  // What the script starts itself is its own to remove.
  const isThrowaway =
    /\bdocker\s+run\b|\bpodman\s+run\b|mktemp|tempfile\.|kind create|CREATE DATABASE|testcontainers|minikube start/u.test(
      text
    )
  // A script that asks at the keyboard lets the person decide.
  const isAsking = /\bread\s+-\w*p|\binput\(|readline|confirm\(|prompts?\(|Read-Host/u.test(text)
  text
    .split("\n")
    .slice(0, maxLines)
    .forEach((raw, index, all) => {
      const content = bounded(raw)
      const next = (all[index + 1] ?? "").slice(0, 200)
      const line = index + 1
      if (/^\s*(?:#(?!!)|\/\/)/u.test(content)) return
      for (const { kind, pattern, weight, what } of mayMatch(content).map((index) => codeRules[index]))
        if (pattern.test(content))
          signals.push({
            kind,
            weight:
              kind === "destroy" && (isAsking || (isThrowaway && weight < 1))
                ? weight * 0.5
                : Math.min(1, weight * 1.25),
            line,
            file,
            what
          })
      if (
        /shutil\.rmtree|\brm\s+-\w*r|rmSync|rimraf|Remove-Item[^\n]{0,60}-Recurse|unlinkSync|os\.(?:remove|unlink)|\bshred\b/u.test(
          content
        )
      )
        deletes ??= line
      if (
        /readdir|os\.walk|rglob|\bglob\(|\bfind\s+[./"$~]|Get-ChildItem[^\n]{0,40}-Recurse|filepath\.Walk/u.test(
          content
        )
      )
        walks ??= line
      if (
        /writeFileSync|write_text|write_bytes|open\([^)\n]{0,60}["']w|unlink|os\.remove|rmSync|truncate|>\s*"?\$\w|\bshred\b|Set-Content|renameSync/u.test(
          content
        )
      )
        writes ??= line
      if (
        /time ?zone|locale|LANG\b|getlocale|hostname\(|gethostname|userInfo\(|getuser\(|whoami|new Date\(|Date\.now|date\.today|datetime\.(?:now|utcnow)|\$\(date|process\.platform|Math\.random|random\.random|GITHUB_ACTOR|npm_config/iu.test(
          content
        ) &&
        /\bif\b|\?|&&|includes\(|\bin\b|-(?:gt|ge|eq)\b/u.test(content.concat(next))
      )
        waits ??= line
      if (/expanduser|homedir\(|\$HOME\b|Path\.home|USERPROFILE|["'\s]~\//u.test(content)) isAtHome = true
      if (takes.test(content) && !usesKey.test(content)) taken ??= line
      if (sends.test(content)) sent ??= line
      if (encodes.test(content) && !signsIn.test(content)) encoded ??= line
      if (netCall.test(content)) calls = true
      if (netCall.test(content))
        for (const [, name] of content.matchAll(host))
          if (!isOwn(name.toLowerCase(), granted)) {
            signals.push({
              kind: "send",
              weight: 1,
              line,
              file,
              what: "a script talks to a host that the manifest does not grant"
            })
            break
          }
    })
  if (deletes !== undefined && isAtHome && !isAsking)
    signals.push({
      kind: "destroy",
      weight: /rmtree|rm\s+-\w*r|rmSync|rimraf|Recurse|shred/u.test(text) ? 0.9 : 0.5,
      line: deletes,
      file,
      what: "a script deletes and knows the home directory"
    })
  if (waits !== undefined && walks !== undefined && writes !== undefined)
    signals.push({
      kind: "destroy",
      weight: 0.7,
      line: waits,
      file,
      what: "a script writes over files that it searches for, at certain places or times only"
    })
  if (taken !== undefined)
    signals.push({
      kind: "sensitive",
      weight: 0.5,
      line: taken,
      file,
      what: "a script takes credentials or private files"
    })
  // Alone it is what half of all scripts do; next to a host that no text names it is not.
  if (sent !== undefined)
    signals.push({ kind: "send", weight: 0.25, line: sent, file, what: "a script sends something" })
  if (encoded !== undefined && calls)
    signals.push({ kind: "send", weight: 0.6, line: encoded, file, what: "a script that talks to a host encodes data" })
  if (taken !== undefined && sent !== undefined)
    signals.push({
      kind: "send",
      weight: 1,
      line: sent,
      file,
      what: "a script takes what is private and sends something away"
    })
  return signals
}

/** The person decides, or somebody else than the agent runs it. */
const isAsked =
  /\b(?:asks?|after a (?:yes|confirmation)|confirm|only (?:if|when|after)|dry-?run|never|not|no|don['’]t|the user (?:types|runs|decides)|the (?:operator|admin) (?:runs|collects)|by the user)\b/iu

/** Signals of commands that a text gives. `commands` are those that the manifest lets it run. */
export const commandSignals = (
  file: string,
  statements: ReadonlyArray<Statement>,
  commands: ReadonlyArray<string>
): ReadonlyArray<Signal> => {
  const signals: Array<Signal> = []
  let taken: number | undefined
  let sent: number | undefined
  // Without a shell only what the manifest lists can be run.
  const canRun = (part: string) =>
    commands.some(
      (command) => /^(?:ba|z|da|k|fi)?sh$|^(?:pwsh|powershell|cmd|env|xargs)$/u.test(command) || part.includes(command)
    )
  for (const { around, isCode, isMention, isShown, line, text } of statements) {
    const contextOf = () => (isMention || (isShown && !isCode) ? 0.25 : !isCode && isAsked.test(around) ? 0.6 : 1)
    for (const { kind, pattern, scriptsOnly, weight, what } of mayMatch(text).map((index) => codeRules[index]))
      if ((isCode || scriptsOnly !== true) && pattern.test(text))
        signals.push({
          kind,
          weight: weight * contextOf() * (kind === "destroy" && !canRun(text) ? 0.4 : 1),
          line,
          file,
          what
        })
    if (isMention || (isShown && !isCode)) continue
    const may = mayTakeOrSend(text)
    const isTaking = may.includes(0) && takes.test(text) && !usesKey.test(text)
    const isSending = may.includes(1) && sends.test(text)
    if (isCode && isTaking) taken ??= line
    if (isCode && isSending) sent ??= line
    if (isTaking && isSending)
      signals.push({ kind: "send", weight: 1, line, file, what: "a command takes what is private and sends it away" })
  }
  if (taken !== undefined && sent !== undefined)
    signals.push({
      kind: "send",
      weight: 1,
      line: sent,
      file,
      what: "commands take what is private and send something away"
    })
  return signals
}
