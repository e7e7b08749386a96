/** What the signed-in account is in a namespace. It decides what a page offers; the registry decides what is done. */

export const roleIn = (profile, namespace) =>
  profile?.handle === namespace ? "owner" : profile?.memberships.find(({ org }) => org === namespace)?.role

export const administers = (profile, namespace) => ["owner", "admin"].includes(roleIn(profile, namespace))

/** Namespaces by their names: the account's own first, then those of its organizations. */
export const namespacesOf = ({ handle, memberships }, { administered } = {}) =>
  Object.fromEntries(
    [handle, ...memberships.filter(({ role }) => !administered || role !== "member").map(({ org }) => org)].map(
      (name) => [name, name]
    )
  )
