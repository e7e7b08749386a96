/** Teams of an organization and their members. Spec: Scopes (org:admin); agents are granted to teams, see Grants. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated } from "../Callers.ts"
import { Handle, TeamId, TeamName, Timestamp } from "../Ids.ts"
import { Paged, pageQuery } from "../Page.ts"
import { Forbidden, NameTaken, NotFound, OrgDecommissioning } from "../Problems.ts"
import { access } from "../Scopes.ts"

export const Team = Schema.Struct({
  id: TeamId,
  org: Handle,
  name: TeamName,
  description: Schema.String,
  members: Schema.Int.pipe(Schema.annotate({ description: "How many members it has" })),
  createdAt: Timestamp
}).annotate({ identifier: "Team" })
export type Team = typeof Team.Type

export const TeamMember = Schema.Struct({
  handle: Handle,
  displayName: Schema.String,
  since: Timestamp
}).annotate({ identifier: "TeamMember" })
export type TeamMember = typeof TeamMember.Type

const Description = Schema.String.check(Schema.isMaxLength(500))

export const CreateTeam = Schema.Struct({ name: TeamName, description: Schema.optionalKey(Description) }).annotate({
  identifier: "CreateTeam",
  examples: [{ name: "billing", description: "Agents of the billing department" }]
})

export const PatchTeam = Schema.Struct({
  name: Schema.optionalKey(TeamName),
  description: Schema.optionalKey(Description)
}).annotate({ identifier: "PatchTeam", examples: [{ description: "Agents of the billing department" }] })

const team = { org: Handle, team: TeamName }

export class TeamsGroup extends HttpApiGroup.make("teams")
  .add(
    HttpApiEndpoint.get("list", "/:org/teams", {
      params: { org: Handle },
      query: pageQuery(100, 50),
      success: Paged(Team).annotate({ identifier: "TeamList" }),
      error: NotFound
    }).annotate(OpenApi.Summary, "List the teams by name"),
    HttpApiEndpoint.post("create", "/:org/teams", {
      params: { org: Handle },
      payload: CreateTeam,
      success: Team.pipe(HttpApiSchema.status(201)),
      error: [NotFound, Forbidden, NameTaken, OrgDecommissioning]
    }).annotate(OpenApi.Summary, "Create a team"),
    HttpApiEndpoint.get("get", "/:org/teams/:team", { params: team, success: Team, error: NotFound }).annotate(
      OpenApi.Summary,
      "Read a team"
    ),
    HttpApiEndpoint.patch("patch", "/:org/teams/:team", {
      params: team,
      payload: PatchTeam,
      success: Team,
      error: [NotFound, Forbidden, NameTaken, OrgDecommissioning]
    }).annotate(OpenApi.Summary, "Rename or describe a team; its members and grants stay"),
    HttpApiEndpoint.delete("remove", "/:org/teams/:team", {
      params: team,
      success: HttpApiSchema.NoContent,
      error: [NotFound, Forbidden, OrgDecommissioning]
    }).annotate(OpenApi.Summary, "Delete a team with its grants"),
    HttpApiEndpoint.get("members", "/:org/teams/:team/members", {
      params: team,
      query: pageQuery(100, 50),
      success: Paged(TeamMember).annotate({ identifier: "TeamMemberList" }),
      error: NotFound
    }).annotate(OpenApi.Summary, "List the members of a team by handle"),
    HttpApiEndpoint.put("putMember", "/:org/teams/:team/members/:handle", {
      params: { ...team, handle: Handle },
      success: TeamMember,
      error: [NotFound, Forbidden, OrgDecommissioning]
    }).annotate(OpenApi.Summary, "Add a member of the organization to a team"),
    HttpApiEndpoint.delete("removeMember", "/:org/teams/:team/members/:handle", {
      params: { ...team, handle: Handle },
      success: HttpApiSchema.NoContent,
      error: [NotFound, Forbidden, OrgDecommissioning]
    }).annotate(OpenApi.Summary, "Take a member out of a team")
  )
  .middleware(Authenticated)
  .prefix("/api/v1/orgs")
  .annotateEndpointsMerge(access.account("org:admin"))
  .annotateMerge(OpenApi.annotations({ title: "Teams", description: "Teams of an organization and their members" })) {}
