/** What is used of the package, which brings no types. */
declare module 'proxy-from-env' {
  /** The address of the proxy that the environment names for this address; empty where it names none. */
  export function getProxyForUrl(url: URL): string
}
