/**
 * Rules for the scripts that packages bring along: what a shell line says in one
 * word, Python and JavaScript say in library calls. Part of the static ruleset.
 */
export const scriptRules = [
  {
    id: "pack-key-folders",
    threat: "credential-theft",
    severity: "high",
    description: "Packs or copies folders of keys that belong to the machine",
    pattern:
      /\b(?:tar|zip|7z|rsync|scp|cp\s+-[a-zA-Z]*[rRa][a-zA-Z]*)\b[^\n|;]{0,100}(?<!-i\s{0,2}["']?)(?:~|\$HOME|\$\{HOME\}|\/root|\/home\/[\w$*{}]+)\/\.(?:ssh|aws|gnupg|kube|docker|azure|config\/gcloud)\b/u
  },
  {
    id: "key-files-by-parts",
    threat: "credential-theft",
    severity: "high",
    description: "Puts the path of a key file of the machine together",
    pattern:
      /(?:\bPath\.home\(\)|\bhomedir\(\)|\benviron(?:\.get)?[[(]\s*["']HOME["']\s*[\])]|\bgetenv\(\s*["']HOME["']\s*\)|\bprocess\.env(?:\.HOME\b|\[["']HOME["']\]))[^\n]{0,40}["'`/](?:\.ssh|\.aws|\.gnupg|\.netrc|\.git-credentials|\.npmrc|\.pypirc|\.kube|\.docker|\.azure|id_rsa|id_ed25519)\b/u
  },
  {
    id: "decode-and-run",
    threat: "remote-code",
    severity: "high",
    description: "Decodes text and runs what comes out",
    pattern:
      /\b(?:base64\s+(?:-d|-D|--decode)|xxd\s+-r)\b[^\n|]{0,80}\|\s*(?:sudo\s+)?(?:(?:ba|z|da)?sh|python[23]?|node|perl)\b|\b(?:exec|eval)\s*\(\s*(?:compile\s*\(\s*)?(?:(?:__import__\(\s*["'](?:base64|zlib|marshal|codecs)["']\s*\)|base64|zlib|marshal|codecs)\s*\.\s*\w+\s*\(|bytes\.fromhex\s*\()|\b(?:eval|Function|vm\.run\w+)\s*\(\s*(?:atob\s*\((?!\s*(?:\.{3}|…))|Buffer\.from\((?!\s*(?:\.{3}|…))[^\n]{1,2000},\s*["'](?:base64|hex)["']\s*\))/u
  },
  {
    id: "run-downloaded",
    threat: "remote-code",
    severity: "high",
    description: "Starts a program or shell with what a server answers",
    pattern:
      /\b(?:subprocess\.(?:run|call|Popen|check_output|check_call)|os\.(?:system|popen)|exec(?:File)?Sync|child_process\.\w+)\s*\([^\n]{0,160}(?:\burlopen\s*\(|\brequests\.get\s*\(|\bawait\s+fetch\s*\()/u
  },
  {
    id: "shell-to-socket",
    threat: "remote-code",
    severity: "high",
    description: "Ties a shell to a network connection",
    pattern:
      /\bos\.dup2\s*\(\s*\w+\.fileno\s*\(\s*\)|\bpty\.spawn\s*\(\s*\[?\s*["'](?:\/(?:usr\/)?bin\/)?(?:ba|z|da)?sh["']|\bspawn\s*\(\s*["'](?:\/bin\/)?(?:ba)?sh["'][^\n]{0,120}\.pipe\s*\(\s*(?:socket|client|sock|conn)\b/u
  },
  {
    id: "environment-as-body",
    threat: "exfiltration",
    severity: "high",
    description: "Makes the whole environment the body of a request",
    pattern:
      /\b(?:body|data|json|params)\s*[:=]\s*(?:JSON\.stringify\(\s*(?:\{\s*\.\.\.)?process\.env\s*[,})]|(?:json\.dumps\(\s*)?dict\(\s*os\.environ\s*\)|os\.environ\s*[,)])/u
  },
  {
    id: "delete-home-in-code",
    threat: "destruction",
    severity: "high",
    description: "Deletes a home directory or a whole disk",
    pattern:
      /\b(?:rmtree|rmSync|rmdirSync|rm|rimraf(?:\.sync)?|remove)\s*\(\s*(?:os\.path\.expanduser\(\s*["']~\/?["']\s*\)|Path\.home\(\)\s*[,)]|(?:os\.)?homedir\(\)\s*[,)]|["']\/["']\s*[,)])/u
  }
] as const
