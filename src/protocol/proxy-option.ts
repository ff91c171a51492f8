/**
 * The HTTP proxy that connections go through, such as `http://proxy.example.com:3128`, with `user:password@` before the
 * host where it asks for them; or `false`: none, whatever the environment says. Without the option the environment
 * decides: `HTTPS_PROXY` for TLS, `HTTP_PROXY` for plain text, `ALL_PROXY` for both, and `NO_PROXY` for what goes
 * directly.
 */
export type ProxyOption = string | URL | false
