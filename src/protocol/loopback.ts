const loopback = /^((.+\.)?localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i

/**
 * Whether a host, as a name, an IPv4 address or an IPv6 address with or without brackets, is this machine only
 * (RFC 6761 section 6.3, RFC 1122 section 3.2.1.3, RFC 4291 section 2.5.3). Only there tokens may go in plain text.
 */
export const isLoopback = (host: string): boolean => loopback.test(host)
