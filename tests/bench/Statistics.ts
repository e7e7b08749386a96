/** What a row of samples comes to. */

/** The value that a share `part` of the samples does not exceed; `part` is 0.5 for the median. NaN of no samples. */
export const quantile = (samples: ReadonlyArray<number>, part: number): number => {
  if (samples.length === 0) return Number.NaN
  const sorted = samples.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(part * sorted.length) - 1))]
}

export const median = (samples: ReadonlyArray<number>): number => quantile(samples, 0.5)
