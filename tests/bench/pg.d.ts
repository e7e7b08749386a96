declare module "pg" {
  export interface PoolOptions {
    readonly connectionString: string
    readonly max: number
  }
  export interface NamedQuery {
    readonly name: string
    readonly text: string
    readonly values: ReadonlyArray<unknown>
  }
  export class Pool {
    constructor(options: PoolOptions)
    query<Row>(query: NamedQuery): Promise<{ readonly rows: ReadonlyArray<Row> }>
    end(): Promise<void>
  }
  const pg: { readonly Pool: typeof Pool }
  export default pg
}
