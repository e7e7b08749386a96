import { startEmbeddedServer } from "@quickagents/platform/testing/server"
import { startStack } from "../stack/Stack.ts"
import { setTimeout as sleep } from "node:timers/promises"
const pg = await startEmbeddedServer({ durable: false })
try {
  const stack = await startStack({ postgres: pg.url, hosts: 0 }); await stack.addHost()
  await sleep(5000); for (const q of ["select * from cluster_runners", "select count(*) from cluster_locks", "select id, seen_at, address from hosts", "select entity_type, entity_id, tag, kind, processed, last_read from cluster_messages limit 20", "select count(*) from pg_locks where locktype='advisory'"]) console.log(q, JSON.stringify(await stack.sql((s) => s.unsafe(q)), (_, v) => typeof v === "bigint" ? String(v) : v))
  console.log(stack.nodes[0]!.log().split("\n").filter((l) => !l.includes('"request"')).join("\n"))
  await stack.stop()
} finally { await pg.stop() }
process.exit(0)
