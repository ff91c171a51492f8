/**
 * The HTTP proxy that connections go through, such as `http://proxy.example.com:3128`, with `user:password@` before the
 * host if it requires them; or `false`: none, and the environment is ignored. Without the option the environment
 * decides: `HTTPS_PROXY` for TLS, `HTTP_PROXY` for plain text, `ALL_PROXY` for both, and `NO_PROXY` for direct
 * connections.
 */
export type ProxyOption = string | URL | false
