export * from "./EmbeddedServer.ts"
export * from "./TestDatabase.ts"
