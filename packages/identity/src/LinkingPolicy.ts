/** What becomes of a person whom the provider names for the first time. Spec: Authentication, other rules 1. */
interface Address {
  readonly emailVerified: boolean
}

export type Linking<Holder> =
  | { readonly _tag: "Create" }
  | { readonly _tag: "Link"; readonly account: Holder }
  | { readonly _tag: "Refuse" }

/**
 * `holders` are the accounts with the same address. Only two verified addresses
 * show that it is one person; two verified holders leave open which one.
 */
export const linkingOf = <Holder extends Address>(
  identity: Address,
  holders: ReadonlyArray<Holder>
): Linking<Holder> => {
  if (holders.length === 0) return { _tag: "Create" }
  const [account, another] = holders.filter((holder) => holder.emailVerified)
  return identity.emailVerified && account !== undefined && another === undefined
    ? { _tag: "Link", account }
    : { _tag: "Refuse" }
}
