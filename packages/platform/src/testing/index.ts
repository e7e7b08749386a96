export * from "./TestDatabase.ts"
