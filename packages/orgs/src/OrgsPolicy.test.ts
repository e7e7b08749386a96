import { assert, describe, it } from "@effect/vitest"
import { isAdmin, maybeStaff, memberChangeRefusal } from "./OrgsPolicy.ts"
import type { MemberChange, Role } from "./OrgsPolicy.ts"

const roles: ReadonlyArray<Role> = ["owner", "admin", "member", null]

/** Every change that can be asked for: of oneself, from and actor role are one and the same. */
const changes: ReadonlyArray<MemberChange> = roles.flatMap((actorRole) =>
  roles.flatMap((to) =>
    [0, 1].flatMap((otherAdmins) => [
      { actorRole, self: true, from: actorRole, to, otherAdmins },
      ...roles.map((from) => ({ actorRole, self: false, from, to, otherAdmins }))
    ])
  )
)
const allowed = changes.filter((change) => memberChangeRefusal(change) === null)

describe("a change of a member", () => {
  it("never leaves an organization without an admin", () => {
    for (const { from, otherAdmins, to } of allowed) {
      assert.isFalse(isAdmin(from) && !isAdmin(to) && otherAdmins === 0)
    }
  })

  it("is an admin's to make, but for leaving", () => {
    for (const { actorRole, self, to } of allowed) assert.isTrue(isAdmin(actorRole) || (self && to === null))
    assert.isNull(memberChangeRefusal({ actorRole: "member", self: true, from: "member", to: null, otherAdmins: 1 }))
  })

  it("makes or unmakes an owner by an owner only, so nobody raises themselves", () => {
    for (const { actorRole, from, to } of allowed) {
      assert.isTrue(actorRole === "owner" || (from !== "owner" && to !== "owner"))
    }
  })

  it("refuses an admin nothing else", () => {
    const refused = changes.filter((change) => isAdmin(change.actorRole) && memberChangeRefusal(change) === "forbidden")
    for (const { from, to } of refused) assert.isTrue(from === "owner" || to === "owner")
  })
})

describe("the staff organization's domain", () => {
  it("takes verified addresses at just that domain, and everyone when none is configured", () => {
    const at = (email: string, emailVerified = true) => maybeStaff({ email, emailVerified }, "Example.com")
    assert.isTrue(at("a@example.com"))
    assert.isFalse(at("a@example.com", false))
    for (const email of ["a@sub.example.com", "a@notexample.com", "a@example.com.evil.test", "example.com", ""]) {
      assert.isFalse(at(email), email)
    }
    assert.isTrue(maybeStaff({ email: "", emailVerified: false }, null))
  })
})
