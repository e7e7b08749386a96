/** What each migration does to a database that the release before still works on. Spec: Versioning, code rolls back, schema does not. */
import { assert, layer } from "@effect/vitest"
import { Database } from "@quickagents/platform"
import { freshDatabaseUrl } from "@quickagents/platform/testing"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { migrations } from "./Node.ts"

const names = Object.keys(migrations).toSorted() as ReadonlyArray<keyof typeof migrations>
const upTo = (count: number): Database.Migrations =>
  Object.fromEntries(names.slice(0, count).map((name) => [name, migrations[name]]))

/** Everything in a schema that a statement of an earlier program may depend on, each with what it demands. */
const schema = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = yield* sql<{ table: string; column: string; type: string; needed: boolean; filled: boolean }>`
    SELECT c.relname AS "table", a.attname AS "column", format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull AS needed,
      a.atthasdef OR a.attidentity <> '' AS filled
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND a.attnum > 0 AND NOT a.attisdropped`
  // A unique index refuses rows as a constraint does, and ON CONFLICT names it as one.
  const rules = yield* sql<{ table: string; rule: string; demands: string; columns: ReadonlyArray<string> }>`
    SELECT r.conrelid::regclass::text AS "table", r.conname AS rule, pg_get_constraintdef(r.oid) AS demands,
      array(SELECT attname::text FROM pg_attribute WHERE attrelid = r.conrelid AND attnum = ANY (r.conkey)) AS columns
    FROM pg_constraint r JOIN pg_class c ON c.oid = r.conrelid
    WHERE r.connamespace = 'public'::regnamespace AND r.contype IN ('c', 'u', 'p', 'f', 'x') AND NOT c.relispartition
    UNION ALL
    SELECT i.indrelid::regclass::text, c.relname, pg_get_indexdef(i.indexrelid),
      array(SELECT attname::text FROM pg_attribute WHERE attrelid = i.indrelid AND attnum = ANY (i.indkey::smallint[]))
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
    WHERE i.indisunique AND c.relnamespace = 'public'::regnamespace AND NOT t.relispartition
      AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid)`
  const functions = yield* sql<{ name: string }>`
    SELECT proname || '(' || pg_get_function_identity_arguments(oid) || ')' AS name FROM pg_proc p
    WHERE pronamespace = 'public'::regnamespace AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = p.oid AND deptype = 'e')`
  return {
    columns: new Map(columns.map((row) => [`${row.table}.${row.column}`, row])),
    rules: new Map(rules.map((row) => [`${row.table} ${row.rule}`, row])),
    functions: new Set(functions.map(({ name }) => name))
  }
})
type Schema = Effect.Success<typeof schema>

/** What an earlier program can no longer do: read what is gone or of another type, write what was enough before. */
const takenBack = (before: Schema, after: Schema): ReadonlyArray<string> => {
  const tables = new Set([...before.columns.values()].map(({ table }) => table))
  const lost: Array<string> = []
  for (const [name, was] of before.columns) {
    const is = after.columns.get(name)
    if (is === undefined) lost.push(`${name} is gone`)
    else {
      if (is.type !== was.type) lost.push(`${name} becomes ${is.type}`)
      if (is.needed && !was.needed) lost.push(`${name} becomes NOT NULL`)
      if (is.needed && was.filled && !is.filled) lost.push(`${name} loses its default`)
    }
  }
  for (const [name, { filled, needed, table }] of after.columns) {
    if (tables.has(table) && !before.columns.has(name) && needed && !filled) lost.push(`${name} has to be written`)
  }
  for (const [name, { demands }] of before.rules) {
    // Without a CHECK more is taken; without a key ON CONFLICT and single rows are gone.
    if (!after.rules.has(name) && !demands.startsWith("CHECK")) lost.push(`${name} is gone`)
  }
  for (const [name, { columns, demands, table }] of after.rules) {
    const isOfOldRows = tables.has(table) && columns.some((column) => before.columns.has(`${table}.${column}`))
    if (isOfOldRows && before.rules.get(name)?.demands !== demands) lost.push(`${name} demands ${demands}`)
  }
  for (const name of before.functions) if (!after.functions.has(name)) lost.push(`${name} is gone`)
  return lost
}

/** Reviewed: what looks like a loss and is none, with its reason. */
const compatible: Readonly<Record<string, string>> = {
  "2026112160_lifecycle: agents agents_retired_private demands CHECK (((retired_at IS NULL) OR (visibility = 'private'::text)))":
    "no release before wrote retired_at",
  "2026112220_forks: agents agents_skip_private demands CHECK (((NOT pipeline_skip) OR (visibility = 'private'::text)))":
    "no release before wrote pipeline_skip",
  "2026112230_organizations: organizations organizations_state_check demands CHECK ((state = ANY (ARRAY['active'::text, 'decommissioning'::text, 'suspended'::text, 'erased'::text])))":
    "takes one state more",
  "2026112230_organizations: organizations organizations_hold demands CHECK (((state <> 'decommissioning'::text) OR (decommission_at IS NOT NULL)))":
    "no release before wrote the state decommissioning"
}

const Fresh = Layer.unwrap(
  Effect.map(freshDatabaseUrl, (url) =>
    Database.layerClient({ url: Redacted.make(url), maxConnections: 4, applicationName: "test" })
  )
)

layer(Fresh, { timeout: "60 seconds" })("migrations", (it) => {
  it.effect("[VER-005] only go forward, and each leaves to the release before what that reads and writes", () =>
    Effect.gen(function* () {
      const losses: Array<string> = []
      let before = yield* schema
      for (const [index, name] of names.entries()) {
        yield* Database.migrate(upTo(index + 1))
        const after = yield* schema
        losses.push(...takenBack(before, after).map((loss) => `${name}: ${loss}`))
        before = after
      }
      assert.deepStrictEqual(
        losses.filter((loss) => !Object.hasOwn(compatible, loss)),
        []
      )
      assert.deepStrictEqual(
        Object.keys(compatible).filter((loss) => !losses.includes(loss)),
        []
      )

      // Every earlier release starts on the newest schema, and changes nothing about it.
      for (let count = 1; count <= names.length; count++) yield* Database.migrate(upTo(count))
      assert.deepStrictEqual(yield* schema, before)
      const sql = yield* SqlClient.SqlClient
      const done = yield* sql<{ count: number }>`SELECT count(*)::int AS count FROM schema_migrations`
      assert.deepStrictEqual(done, [{ count: names.length }])
    })
  )

  it.effect("that take something away are found out", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const losing = Effect.fnUntraced(function* (...statements: ReadonlyArray<string>) {
        for (const table of ["probe", "kept"]) yield* sql.unsafe(`DROP TABLE IF EXISTS ${table}`)
        yield* sql.unsafe(
          "CREATE TABLE kept (id text PRIMARY KEY, a text, b integer NOT NULL DEFAULT 0, c text UNIQUE, CONSTRAINT a_is CHECK (a <> ''))"
        )
        const before = yield* schema
        for (const statement of statements) yield* sql.unsafe(statement)
        return takenBack(before, yield* schema)
      })
      for (const [statement, loss] of [
        ["DROP TABLE kept", "kept.id is gone"],
        ["ALTER TABLE kept RENAME TO probe", "kept.id is gone"],
        ["ALTER TABLE kept DROP COLUMN a", "kept.a is gone"],
        ["ALTER TABLE kept RENAME COLUMN a TO d", "kept.a is gone"],
        ["ALTER TABLE kept ALTER COLUMN b TYPE smallint", "kept.b becomes smallint"],
        ["ALTER TABLE kept ALTER COLUMN a SET NOT NULL", "kept.a becomes NOT NULL"],
        ["ALTER TABLE kept ALTER COLUMN b DROP DEFAULT", "kept.b loses its default"],
        ["ALTER TABLE kept ADD COLUMN d text NOT NULL", "kept.d has to be written"],
        ["ALTER TABLE kept DROP CONSTRAINT kept_c_key", "kept kept_c_key is gone"],
        [
          "CREATE UNIQUE INDEX a_once ON kept (a)",
          "kept a_once demands CREATE UNIQUE INDEX a_once ON public.kept USING btree (a)"
        ],
        ["ALTER TABLE kept ADD CONSTRAINT b_is CHECK (b > 0)", "kept b_is demands CHECK ((b > 0))"]
      ])
        assert.include(yield* losing(statement), loss, statement)
      for (const statement of [
        "ALTER TABLE kept ADD COLUMN d text CHECK (d <> '')",
        "ALTER TABLE kept ADD COLUMN d integer NOT NULL DEFAULT 1",
        "ALTER TABLE kept DROP CONSTRAINT a_is",
        "ALTER TABLE kept ALTER COLUMN b DROP NOT NULL",
        "CREATE TABLE probe (id text PRIMARY KEY REFERENCES kept)",
        "CREATE INDEX a_fast ON kept (a)"
      ])
        assert.deepStrictEqual(yield* losing(statement), [], statement)
    })
  )
})
