/* What people who see little, or hear the page, would miss: run in the browser by Pages.test.ts. */
;(() => {
  const found = []
  if (document.querySelectorAll("h1").length !== 1) found.push("not one h1")
  if (document.documentElement.lang === "") found.push("no language")
  for (const control of document.querySelectorAll("input, select, textarea"))
    if (control.labels?.length === 0 && !control.ariaLabel) found.push(`no label: ${control.outerHTML.slice(0, 80)}`)
  for (const pressed of document.querySelectorAll("a, button"))
    if ((pressed.ariaLabel ?? pressed.textContent).trim() === "")
      found.push(`no words: ${pressed.outerHTML.slice(0, 80)}`)
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((value) =>
      value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4
    )
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const colour = (text) => (text.match(/[\d.]+/gu) ?? []).map(Number)
  for (const element of document.querySelectorAll("main *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent?.trim() !== "")
    if (!own || element.getClientRects().length === 0 || element.closest(".visually-hidden") !== null) continue
    let behind = element
    let back = [0, 0, 0, 0]
    while (behind !== null && (back[3] ?? 1) === 0) {
      back = colour(getComputedStyle(behind).backgroundColor)
      if (back.length === 3) back.push(1)
      behind = behind.parentElement
    }
    const style = getComputedStyle(element)
    const [dark, light] = [luminance(colour(style.color).slice(0, 3)), luminance(back.slice(0, 3))].toSorted(
      (a, b) => a - b
    )
    const large = Number.parseFloat(style.fontSize) >= 24
    if ((light + 0.05) / (dark + 0.05) < (large ? 3 : 4.5))
      found.push(`low contrast: ${element.outerHTML.slice(0, 100)}`)
  }
  return found
})()
