/** The three people whom a development stack knows. Fictional, and without a password: the provider listens on loopback only. */

export interface Person {
  /** Account handle and subject at the provider. */
  readonly handle: string
  readonly name: string
  readonly email: string
  /** What this person is here for, shown where one chooses whom to be. */
  readonly purpose: string
}

export const staffOrg = "staff"
export const staffDomain = "staff.example"
export const customerOrg = "acme"
/** Credits that olli has at the first start, beside the allowance of the tier. */
export const grantedCredits = 1_000

export const sam: Person = { handle: "sam", name: "Sam Staff", email: `sam@${staffDomain}`, purpose: "platform staff" }
export const ada: Person = {
  handle: "ada",
  name: "Ada Admin",
  email: "ada@acme.example",
  purpose: `owner of the organization ${customerOrg}`
}
export const olli: Person = {
  handle: "olli",
  name: "Olli Ordinary",
  email: "olli@example.com",
  purpose: "an ordinary account with credits"
}

export const people: ReadonlyArray<Person> = [sam, ada, olli]
