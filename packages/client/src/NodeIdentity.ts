/** What a registry node, or a tool that acts as one, shows to its peers: PEM, signed by the deployment's authority. */
export interface NodeIdentity {
  readonly caCertificate: string
  readonly certificate: string
  readonly privateKey: string
}
