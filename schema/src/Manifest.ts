/**
 * The manifest of a QuickAgent, `agent.yaml`, major 2.
 *
 * `schema/agent.schema.json` is generated from this file, so every field says
 * what it means: editors show these descriptions while an author types.
 */
import { Schema } from "effect"
import { Version } from "./Ids.ts"

const described =
  (description: string) =>
  <S extends Schema.Top>(schema: S): S["Rebuild"] =>
    schema.annotate({ description })

const RelativePath = Schema.String.check(
  Schema.isPattern(/^(?!\/)(?!.*(?:^|\/)\.\.?(?:\/|$))(?!.*\/\/)[^\\\u0000-\u001f]{1,255}$/u)
).pipe(described("Relative path inside the package, forward slashes, no . or .. segments"))

const Glob = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(255)).pipe(
  described("Glob under the run's workspace")
)

export const Mode = Schema.Literals(["autonomous", "interactive"]).pipe(
  described("autonomous runs from start to finish; interactive asks and answers while it runs")
)
export type Mode = typeof Mode.Type

export const IntakeQuestion = Schema.Struct({
  id: Schema.String.check(Schema.isPattern(/^[a-z][A-Za-z0-9_]{0,63}$/u)).pipe(described("Key of the answer")),
  label: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)).pipe(
    described("Question shown to a person")
  ),
  type: Schema.Literals(["string", "text", "integer", "number", "boolean", "choice", "url", "file"]).pipe(
    described("Kind of answer")
  ),
  required: Schema.optionalKey(Schema.Boolean.pipe(described("Whether a run needs the answer; default false"))),
  options: Schema.optionalKey(
    Schema.Array(Schema.String)
      .check(Schema.isMinLength(1), Schema.isMaxLength(100))
      .pipe(described("Choices of a choice question"))
  ),
  default: Schema.optionalKey(
    Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]).pipe(described("Answer used when none is given"))
  ),
  browserSite: Schema.optionalKey(Schema.Boolean.pipe(described("The answer is a url that the browser may open")))
}).annotate({ identifier: "IntakeQuestion", description: "One question that is answered before a run" })
export type IntakeQuestion = typeof IntakeQuestion.Type

export const Capabilities = Schema.Struct({
  filesystem: Schema.optionalKey(
    Schema.Struct({
      read: Schema.optionalKey(Schema.Array(Glob).pipe(described("What may be read"))),
      write: Schema.optionalKey(Schema.Array(Glob).pipe(described("What may be written")))
    }).pipe(described("Globs under the run's workspace that may be read and written"))
  ),
  exec: Schema.optionalKey(
    Schema.Struct({
      commands: Schema.Array(Schema.String.check(Schema.isPattern(/^[A-Za-z0-9._+-]{1,64}$/u))).pipe(
        described("Names, found on the path of the sandbox")
      )
    }).pipe(described("Program names that the agent may start"))
  ),
  network: Schema.optionalKey(
    Schema.Struct({
      egress: Schema.Array(
        Schema.String.check(
          Schema.isPattern(/^(\*\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+:\d{1,5}$/u)
        )
      ).pipe(described("host:port entries"))
    }).pipe(described("host:port that may be reached; an exact name, or one leading *."))
  ),
  browser: Schema.optionalKey(
    Schema.Struct({
      scope: Schema.Literals(["sites", "public"]).pipe(
        described("sites: listed sites and intake answers marked browserSite; public: the public web")
      ),
      sites: Schema.optionalKey(Schema.Array(Schema.String).pipe(described("Sites as https://host"))),
      typeSecrets: Schema.optionalKey(Schema.Boolean.pipe(described("The browser may type secrets into pages")))
    }).pipe(described("A browser of the sandbox"))
  ),
  targetHosts: Schema.optionalKey(Schema.Array(Schema.String).pipe(described("Targets of host tools")))
}).annotate({
  identifier: "Capabilities",
  description: "What the agent asks to be allowed; anything not listed is refused"
})
export type Capabilities = typeof Capabilities.Type

export const McpServer = Schema.Struct({
  name: Schema.String.check(Schema.isPattern(/^[a-z][a-z0-9_-]{0,63}$/u)).pipe(
    described("Prefix of its tools: <name>__<tool>")
  ),
  package: Schema.optionalKey(
    Schema.Struct({
      ecosystem: Schema.Literals(["npm", "pypi"]).pipe(described("Registry of the package")),
      name: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(214)).pipe(described("Package name")),
      version: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(128)).pipe(described("Exact version"))
    }).pipe(described("Server started from a package"))
  ),
  url: Schema.optionalKey(Schema.String.pipe(described("Address of a remote server, https"))),
  auth: Schema.optionalKey(
    Schema.Literals(["none", "secret", "oauth"]).pipe(described("How the server is signed in to; default none"))
  ),
  scopes: Schema.optionalKey(Schema.Array(Schema.String).pipe(described("OAuth scopes asked for"))),
  tools: Schema.optionalKey(Schema.Array(Schema.String).pipe(described("Tools the agent may use; all when absent")))
}).annotate({ identifier: "McpServer", description: "A Model Context Protocol server the agent uses" })
export type McpServer = typeof McpServer.Type

export const DeclaredSecret = Schema.Struct({
  name: Schema.String.check(Schema.isPattern(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/u)).pipe(
    described("Name, case significant")
  ),
  required: Schema.optionalKey(Schema.Boolean.pipe(described("Default true"))),
  purpose: Schema.optionalKey(
    Schema.String.check(Schema.isMaxLength(500)).pipe(described("Shown to the person who sets it"))
  ),
  deliver: Schema.optionalKey(
    Schema.Literals(["env", "browser", "header"]).pipe(described("How it reaches the agent; default env"))
  )
}).annotate({ identifier: "DeclaredSecret", description: "A secret the agent works with" })
export type DeclaredSecret = typeof DeclaredSecret.Type

export const Manifest = Schema.Struct({
  schemaVersion: Schema.Literal(2).pipe(described("Manifest major")),
  name: Schema.String.check(Schema.isPattern(/^[a-z0-9-]{1,39}\/[a-z0-9-]{1,64}$/u)).pipe(
    described("namespace/name; must match where it is published")
  ),
  version: Version,
  description: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500)).pipe(
    described("One or two sentences for search and consent")
  ),
  license: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(128)).pipe(described("SPDX expression"))),
  keywords: Schema.optionalKey(
    Schema.Array(Schema.String.check(Schema.isPattern(/^[a-z0-9][a-z0-9-]{0,39}$/u)))
      .check(Schema.isMaxLength(20))
      .pipe(described("Search keywords"))
  ),
  homepage: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^https?:\/\/[^\s]{1,2000}$/u)).pipe(described("Web page of the agent"))
  ),
  instructions: Schema.optionalKey(RelativePath.pipe(described("Path of the instruction file; default AGENT.md"))),
  modes: Schema.Array(Mode)
    .check(Schema.isMinLength(1), Schema.isMaxLength(2))
    .pipe(described("Run modes; at least one")),
  intake: Schema.optionalKey(
    Schema.Array(IntakeQuestion).check(Schema.isMaxLength(50)).pipe(described("Questions answered before a run"))
  ),
  output: Schema.optionalKey(
    Schema.Struct({
      schema: Schema.optionalKey(
        RelativePath.pipe(described("JSON Schema 2020-12 that the structured result must satisfy"))
      ),
      files: Schema.optionalKey(Schema.Array(Glob).pipe(described("Files of the workspace that go into output.tar")))
    }).pipe(described("What a run gives back"))
  ),
  budgets: Schema.optionalKey(
    Schema.Struct({
      seconds: Schema.optionalKey(
        Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 86_400 })).pipe(described("Wall time"))
      ),
      turns: Schema.optionalKey(
        Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 })).pipe(described("Model turns"))
      )
    }).pipe(described("Own limits of a run, at most the tier's caps"))
  ),
  capabilities: Schema.optionalKey(Capabilities),
  mcpServers: Schema.optionalKey(
    Schema.Array(McpServer).check(Schema.isMaxLength(20)).pipe(described("Servers whose tools the agent uses"))
  ),
  secrets: Schema.optionalKey(
    Schema.Array(DeclaredSecret).check(Schema.isMaxLength(64)).pipe(described("Secrets the agent works with"))
  ),
  knowledge: Schema.optionalKey(
    Schema.Array(RelativePath).check(Schema.isMaxLength(5)).pipe(described("Knowledge packs shipped with the release"))
  ),
  model: Schema.optionalKey(
    Schema.Struct({
      minContext: Schema.optionalKey(Schema.Int.pipe(described("Smallest context window, tokens"))),
      needs: Schema.optionalKey(Schema.Array(Schema.Literals(["vision", "tools"])).pipe(described("Abilities")))
    }).pipe(described("What the model must be able to do; never a vendor"))
  )
}).annotate({ identifier: "Manifest", title: "agent.yaml", description: "Manifest of a QuickAgent, major 2" })
export type Manifest = typeof Manifest.Type

export const defaultInstructions = "AGENT.md"
export const manifestFile = "agent.yaml"

/**
 * Reads the parsed YAML of a v1 or v2 manifest as the v2 input.
 *
 * A v1 manifest (`kind: skill` or `prompt-agent`) becomes `modes: [autonomous]`;
 * everything else is returned as it is and judged by the schema.
 * Spec: Versioning 2.
 */
export const fromV1 = (parsed: unknown): { readonly major: 1 | 2; readonly input: unknown } => {
  if (typeof parsed !== "object" || parsed === null || !("kind" in parsed)) return { major: 2, input: parsed }
  const { kind, schemaVersion: _, ...rest } = parsed as Record<string, unknown>
  return kind === "skill" || kind === "prompt-agent"
    ? { major: 1, input: { ...rest, schemaVersion: 2, modes: ["autonomous"] } }
    : { major: 2, input: parsed }
}
