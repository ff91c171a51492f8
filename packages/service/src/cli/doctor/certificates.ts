import { X509Certificate } from 'node:crypto'
import { ok, warning, wrong, type Finding } from './check.js'

const dayMs = 86_400_000
/** Certificates of public CAs are renewed about a month before their end. */
const warnDays = 14

/** The times of a certificate. */
export const expiryFinding = (pem: string | Buffer, nowMs: number): Finding => {
  const { validFrom, validTo, subjectAltName } = new X509Certificate(pem)
  const names = subjectAltName?.replaceAll(/(?:DNS|IP Address):/g, '') ?? 'no name'
  const [fromMs, toMs] = [Date.parse(validFrom), Date.parse(validTo)]
  const until = new Date(toMs).toISOString().slice(0, 10)
  const days = Math.floor((toMs - nowMs) / dayMs)
  if (nowMs < fromMs) return wrong(`The certificate (${names}) is valid only from ${validFrom}.`, 'Check the clocks.')
  if (nowMs >= toMs)
    return wrong(`The certificate (${names}) has expired on ${until}.`, 'Renew it and run rxspeech reload.')
  if (days < warnDays) return warning(`The certificate (${names}) expires in ${days} days.`, 'Renew it.')
  return ok(`certificate for ${names} until ${until}`)
}
