/** The data of a development service that a client in a shell needs. */
export interface ServiceAccess {
  readonly authUrl: string
  readonly grpc: string
  readonly ca: string | null
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
}

/** A word, quoted for a shell where needed. */
const shellWord = (text: string): string =>
  /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

/** Commands that use the service from another terminal; undefined if something that a client needs is unknown. */
export const howToTry = ({ authUrl, grpc, ca, clientId, clientSecret }: ServiceAccess): string | undefined => {
  if (ca === null || clientId === undefined || clientSecret === undefined) return undefined
  const lines = [
    'Try it in another terminal; Ctrl-C here ends the service.',
    `  export RXSPEECH_CLIENT_SECRET=${shellWord(clientSecret)}`,
    `  rxspeech transcribe call.wav --speed max --grpc ${shellWord(grpc)} \\`,
    `    --auth-url ${shellWord(authUrl)} --client-id ${shellWord(clientId)} \\`,
    `    --ca ${shellWord(ca)}`,
  ]
  return `\n${lines.join('\n')}\n\n`
}
