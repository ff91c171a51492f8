/** What a client in a shell needs of a development service. */
export interface TriedService {
  readonly authUrl: string
  readonly grpc: string
  readonly ca: string | null
  readonly clientId?: string
  readonly clientSecret?: string
}

/** A word as a shell takes it. */
const shellWord = (text: string): string =>
  /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

/** Commands for another terminal that use the service, to be copied; undefined where a client would lack something. */
export const howToTry = ({ authUrl, grpc, ca, clientId, clientSecret }: TriedService): string | undefined => {
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
