import type { Headers } from '../identity/http/responses.js'

/**
 * Only files of this service, and recordings that the page itself has: no inline script or style, no frame, no form. The socket has the address
 * of the page, which `'self'` includes.
 */
const contentSecurityPolicy = [
  "default-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "media-src 'self' blob:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The headers of all files of the studio. */
export const pageHeaders: Headers = {
  'Content-Security-Policy': contentSecurityPolicy,
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
}
