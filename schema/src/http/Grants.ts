/** What people and teams may do to one agent, beyond what their role in its namespace gives them. Spec: Run creation rules 1; Authentication, other rules 7. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated } from "../Callers.ts"
import { AgentName, Handle, TeamName } from "../Ids.ts"
import { Paged, pageQuery } from "../Page.ts"
import { NotFound, OrgDecommissioning } from "../Problems.ts"
import { access } from "../Scopes.ts"

export const GrantLevel = Schema.Literals(["read", "write", "manage"]).annotate({
  identifier: "GrantLevel",
  description:
    "read: read it while private; write: also submit versions and push; manage: also change, retire, delete, grant"
})
export type GrantLevel = typeof GrantLevel.Type

export const PersonGrant = Schema.Struct({
  kind: Schema.Literal("person"),
  handle: Handle,
  level: GrantLevel
}).annotate({ identifier: "PersonGrant" })

export const TeamGrant = Schema.Struct({
  kind: Schema.Literal("team"),
  /** Always the organization that owns the agent. */
  org: Handle,
  team: TeamName,
  level: GrantLevel
}).annotate({ identifier: "TeamGrant" })

export const AgentGrant = Schema.Union([PersonGrant, TeamGrant]).annotate({ identifier: "AgentGrant" })
export type AgentGrant = typeof AgentGrant.Type

const PutGrant = Schema.Struct({ level: GrantLevel }).annotate({
  identifier: "PutGrant",
  examples: [{ level: "read" as const }]
})

const agent = { ns: Handle, name: AgentName }

export class GrantsGroup extends HttpApiGroup.make("grants")
  .add(
    HttpApiEndpoint.get("list", "/:ns/:name/grants", {
      params: agent,
      query: pageQuery(100, 50),
      success: Paged(AgentGrant).annotate({ identifier: "AgentGrantList" }),
      error: NotFound
    }).annotate(OpenApi.Summary, "List the grants on an agent, people by handle, then teams by name"),
    HttpApiEndpoint.put("putPerson", "/:ns/:name/grants/people/:handle", {
      params: { ...agent, handle: Handle },
      payload: PutGrant,
      success: PersonGrant,
      error: [NotFound, OrgDecommissioning]
    }).annotate(OpenApi.Summary, "Grant an agent to a person, or change the level"),
    HttpApiEndpoint.delete("removePerson", "/:ns/:name/grants/people/:handle", {
      params: { ...agent, handle: Handle },
      success: HttpApiSchema.NoContent,
      error: [NotFound, OrgDecommissioning]
    }).annotate(OpenApi.Summary, "Take a person's grant back"),
    HttpApiEndpoint.put("putTeam", "/:ns/:name/grants/teams/:team", {
      params: { ...agent, team: TeamName },
      payload: PutGrant,
      success: TeamGrant,
      error: [NotFound, OrgDecommissioning]
    }).annotate(OpenApi.Summary, "Grant an agent to a team of the organization that owns it, or change the level"),
    HttpApiEndpoint.delete("removeTeam", "/:ns/:name/grants/teams/:team", {
      params: { ...agent, team: TeamName },
      success: HttpApiSchema.NoContent,
      error: [NotFound, OrgDecommissioning]
    }).annotate(OpenApi.Summary, "Take a team's grant back")
  )
  .middleware(Authenticated)
  .prefix("/api/v1/agents")
  .annotateEndpointsMerge(access.account("agent:manage"))
  .annotateMerge(OpenApi.annotations({ title: "Grants", description: "What people and teams may do to one agent" })) {}
