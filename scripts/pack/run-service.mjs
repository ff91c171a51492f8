// @ts-check
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'

const timeoutMs = 120_000

/** The first one of the sample call. */
const sentence = 'good evening harbor grill'
const execute = promisify(execFile)

const configuration = `
http: 127.0.0.1:0
grpc: 127.0.0.1:0
stateFolder: state
studio: true
models:
  folders: [node_modules/rxspeech-service/samples/models]
dialects:
  use: [openai-transcriptions]
  models: { whisper-1: call }
# A busy machine is no reason to refuse a session here.
limits: { maxLoadPercent: 0, maxLoopDelayMs: 0, maxEngineDelayMs: 0 }
`

/**
 * Transcribes a recording as a new user does, without a model and a service; then creates a subscription, starts the
 * service for others with its page, gets a token and transcribes the same recording, each with the commands that
 * `npm install` made.
 *
 * @param {string} project where both packages are installed
 * @param {string} program the Node that runs the commands
 */
export const runService = async (project, program) => {
  const options = {
    cwd: project,
    timeout: timeoutMs,
    env: { ...process.env, PATH: `${dirname(program)}${delimiter}${process.env['PATH'] ?? ''}` },
  }
  const bin = (/** @type {string} */ name) => join(project, 'node_modules/.bin', name)
  /** @param {ReadonlyArray<string>} args @param {Record<string, string>} env @param {Uint8Array} [input] */
  const rxspeech = async (args, env = {}, input) => {
    const run = execute(bin('rxspeech'), args, { ...options, env: { ...options.env, ...env } })
    if (input !== undefined) run.child.stdin?.end(input)
    return (await run).stdout
  }

  // The header of the sample call has 58 bytes and ends with the length of the samples; a second has 16,000 bytes.
  const call = await readFile(join(project, 'node_modules/rxspeech-service/samples/call.wav'))
  const telephone = call.subarray(58, 58 + 5 * 16_000)
  call.writeUInt32LE(50 + telephone.length, 4)
  call.writeUInt32LE(telephone.length, 54)
  await writeFile(join(project, 'my.wav'), call.subarray(0, 58 + telephone.length))
  const transcribe = ['transcribe', '-', '--encoding', 'ulaw', '--rate', '8000', '--channels', '2']
  /** @param {string} transcript @param {string} words */
  const mustHave = (transcript, words) => {
    if (!transcript.includes(words)) throw new Error(`Words are missing: ${transcript}`)
  }
  for (const command of ['demo', 'transcribe']) mustHave(await rxspeech([command, 'my.wav']), 'left: Good evening')
  mustHave(await rxspeech([...transcribe, '--model', 'call'], {}, telephone), sentence)

  await writeFile(join(project, 'service.yaml'), configuration)
  const { clientId, clientSecret } = JSON.parse(
    await rxspeech(['subscription', 'create', '--config', 'service.yaml', '--json']),
  )
  const serve = spawn(bin('rxspeech-service'), ['serve', '--config', 'service.yaml'], { ...options, stdio: 'pipe' })
  const log = text(serve.stderr)
  const ended = once(serve, 'close')
  const [line] = await Promise.race([once(createInterface(serve.stdout), 'line'), ended])
  if (typeof line !== 'string') throw new Error(`The service did not start: ${await log}`)
  const { authUrl, wsUrl } = JSON.parse(line)
  try {
    const page = await (await fetch(authUrl)).text()
    if (!page.includes('<title>')) throw new Error(`The page of the service is missing: ${page}`)
    const secret = { RXSPEECH_CLIENT_SECRET: clientSecret }
    const RXSPEECH_TOKEN = (await rxspeech(['token', '--auth-url', authUrl, '--client-id', clientId], secret)).trim()
    const remote = [...transcribe, '--url', wsUrl, '--model', 'call']
    mustHave(await rxspeech(remote, { RXSPEECH_TOKEN }, telephone), sentence)
    const form = new FormData()
    form.append('model', 'whisper-1')
    form.append('file', new Blob([await readFile(join(project, 'my.wav'))]), 'my.wav')
    const request = { method: 'POST', headers: { Authorization: `Bearer ${RXSPEECH_TOKEN}` }, body: form }
    mustHave(await (await fetch(`${authUrl}/v1/audio/transcriptions`, request)).text(), sentence)
  } finally {
    serve.kill('SIGTERM')
    await ended
  }
}
