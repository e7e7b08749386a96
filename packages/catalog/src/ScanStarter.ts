/** Starts the scan of a version that was just stored. The scan package provides it; the catalog only asks. */
import { Context, Effect } from "effect"

export class ScanStarter extends Context.Service<
  ScanStarter,
  {
    /** Returns once the request is on its way; a lost one is found by `scan.reconcile`. */
    readonly start: (versionId: string) => Effect.Effect<void>
  }
>()("catalog/ScanStarter") {}
