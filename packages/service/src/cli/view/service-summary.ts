import type { Paint } from './paint.js'
import { shellWord, shortPath } from './typed-command.js'

/** The addresses of a running service; those of a development service with a file for clients. */
export interface ShownService {
  readonly authUrl: string
  readonly wsUrl: string
  readonly grpc: string
  readonly model: string
  readonly operations?: string | undefined
  readonly credentials?: string | undefined
  readonly plainAuthUrl?: string | undefined
  readonly plainWsUrl?: string | undefined
  readonly pageUrl?: string | undefined
}

export interface SummaryOptions {
  /** The program as it was started. */
  readonly program: string
  /** A recording. */
  readonly call: string
  /** The folder in which the person types. */
  readonly folder: string
  readonly paint: Paint
}

/** What a person reads who starts the service in a terminal; a program reads the line of JSON. */
export const serviceSummary = (service: ShownService, options: SummaryOptions): string => {
  const { program, call, folder, paint } = options
  const { credentials, plainAuthUrl } = service
  const file = credentials === undefined ? undefined : shortPath(credentials, folder)
  const rows: readonly (readonly [string, ...(string | undefined)[]])[] = [
    ['Page', service.pageUrl],
    ['WebSocket', service.plainWsUrl, service.wsUrl],
    ['Tokens', plainAuthUrl, service.authUrl],
    ['gRPC', service.grpc],
    ['OpenAI API', plainAuthUrl && openAiBase(plainAuthUrl)],
    ['Deepgram API', plainAuthUrl],
    ['Operations', service.operations],
    ['Model', service.model === '' ? undefined : service.model],
    ['Credentials', file],
  ]
  const lines = rows.flatMap(([name, ...values]) => {
    const shown = values.filter((value) => value !== undefined)
    return shown.length === 0 ? [] : [`  ${paint('dim', name.padEnd(13))}${shown.join('   ')}`]
  })
  const head = `\n${paint('bold', 'The service is ready.')} Ctrl-C ends it.\n\n${lines.join('\n')}\n\n`
  return file === undefined ? head : head + trials(program, shortPath(call, folder), file, paint, plainAuthUrl)
}

const openAiBase = (url: string): string => `${url}/v1`

const trials = (program: string, call: string, file: string, paint: Paint, url: string | undefined): string => `\
${paint('bold', 'A command')}, in another terminal:

  ${program} transcribe ${shellWord(call)} --speed max \\
    --access ${shellWord(file)}

${url === undefined ? '' : otherClients(program, call, file, paint, url)}${paint('bold', 'A program')}, first.mjs, after npm install rxspeech rxjs:

${programText(call, file).replaceAll(/^(?=.)/gm, '  ')}
`

const otherClients = (program: string, call: string, file: string, paint: Paint, url: string): string => `\
${paint('bold', 'A client of another service')}, with a token as its API key:

  export OPENAI_BASE_URL=${openAiBase(url)}
  export OPENAI_API_KEY=$(${program} token \\
    --access ${shellWord(file)})
  curl $OPENAI_BASE_URL/audio/transcriptions -F model=any \\
    -H "Authorization: Bearer $OPENAI_API_KEY" \\
    -F file=@${shellWord(call)}

`

/** A text of JavaScript. */
const literal = (text: string): string => (/['\\\n]/.test(text) ? JSON.stringify(text) : `'${text}'`)

/** A program that transcribes the recording with the service. */
const programText = (call: string, file: string): string => `\
import { createReadStream, readFileSync } from 'node:fs'
import { readWav, recognize, requestToken } from 'rxspeech'

const service = JSON.parse(readFileSync(${literal(file)}))
const { plainAuthUrl, plainWsUrl, model, clientId, clientSecret } = service
const token = requestToken({ authUrl: plainAuthUrl, clientId, clientSecret })
const { format, audio } = await readWav(
  createReadStream(${literal(call)}),
)
recognize({ url: plainWsUrl, model, token, format })(audio).subscribe(
  ({ type, text }) => type === 'milestone' && console.log(text.trim()),
)
`
