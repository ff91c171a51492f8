import type { StandIn } from '../../testing/stand-in/stand-in.js'
import { vendors, type StandInDialect } from '../../testing/stand-in/vendors.js'
import type { Paint } from './paint.js'

/** What a person reads who starts a stand-in in a terminal: what to set for each client. */
export const standInSummary = (
  { url, wsUrl, key, env, ca }: StandIn,
  dialects: readonly StandInDialect[],
  paint: Paint,
): string => {
  const variables = { ...env, ...(ca !== undefined && { NODE_EXTRA_CA_CERTS: ca.path }) }
  const exports = Object.entries(variables).map(([name, value]) => `  export ${name}=${value}`)
  const settings = dialects.flatMap((name) => Object.entries(vendors[name].settings({ url, wsUrl, key })))
  const width = Math.max(...settings.map(([client]) => client.length))
  const lines = settings.map(([client, setting]) => `  ${paint('dim', client.padEnd(width))}  ${setting}`)
  return [
    '',
    `${paint('bold', `The stand-in of ${dialects.join(', ')} is ready`)} at ${url}. Ctrl-C ends it.`,
    '',
    'For clients that read variables:',
    ...exports,
    '',
    'For others:',
    ...lines,
    '',
    `What has arrived: curl ${url}/stand-in/sessions`,
    '',
    '',
  ].join('\n')
}
