/** The used part of the package, which has no types. */
declare module 'proxy-from-env' {
  /** The address of the proxy that the environment names for this address; empty if there is none. */
  export function getProxyForUrl(url: URL): string
}
