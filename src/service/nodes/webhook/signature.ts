import { createHmac } from 'node:crypto'

/** `X-Rxspeech-Signature`: the time in seconds, and HMAC-SHA256 of `<t>.<body>` as hexadecimal digits. */
export const signatureOf = (secret: string, timeSeconds: number, body: string): string =>
  `t=${timeSeconds},v1=${createHmac('sha256', secret).update(`${timeSeconds}.${body}`).digest('hex')}`
