/** What an agent may do on the machine that it runs on, as pairs for `facts`. */
export const capabilityLines = (capabilities) => {
  if (capabilities === null) return []
  const { browser, exec, filesystem, network, targetHosts } = capabilities
  return [
    ["Reads files", filesystem?.read?.join(", ")],
    ["Writes files", filesystem?.write?.join(", ")],
    ["Starts programs", exec?.commands.join(", ")],
    ["Reaches", network?.egress.join(", ")],
    [
      "Browses",
      browser === undefined
        ? undefined
        : browser.scope === "public"
          ? "the public web"
          : (browser.sites ?? []).join(", ") || "sites from its questions"
    ],
    ["Types into pages", browser?.typeSecrets === true ? "secrets" : undefined],
    ["Host tools", targetHosts?.join(", ")]
  ]
}
