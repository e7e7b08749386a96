/** Where objects and keys are kept, as the configuration says. */
import { DirectoryObjectStore, KeyService, S3ObjectStore, Settings } from "@quickagents/platform"
import { Effect, Layer, Redacted } from "effect"

export const ObjectStoreLive = Layer.unwrap(
  Effect.gen(function* () {
    const settings = yield* Settings.Settings
    const [bucket, directory] = [settings["objects.bucket"], settings["objects.directory"]]
    if (bucket !== null) {
      const [endpoint, accessKeyId, secretAccessKey] = [
        settings["objects.endpoint"],
        settings["objects.accessKeyId"],
        settings["objects.secretAccessKey"]
      ]
      return S3ObjectStore.layer({
        bucket,
        region: settings["objects.region"],
        ...(endpoint === null ? {} : { endpoint, forcePathStyle: true }),
        ...(accessKeyId === null || secretAccessKey === null
          ? {}
          : { accessKeyId, secretAccessKey: Redacted.make(secretAccessKey) })
      })
    }
    if (directory !== null) return DirectoryObjectStore.layer({ directory })
    return yield* new Settings.SettingsInvalid({
      problems: ["objects.bucket or objects.directory is missing: releases and outputs need a place"]
    })
  })
)

export const KeyServiceLive = Layer.unwrap(
  Effect.map(Settings.Settings, (settings) => {
    const key = settings["keys.sealingKey"]
    return key === null
      ? KeyService.layerNone
      : KeyService.layerLocal({ sealingKey: Redacted.make(new Uint8Array(Buffer.from(key, "base64"))) })
  })
)
