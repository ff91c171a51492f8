// The ways from audio to words: the engine alone, and a service with real sockets over each transport.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { firstValueFrom, from, lastValueFrom, tap, toArray } from 'rxjs'
import { withEngine } from '../recordings.mjs'
import { rateHz } from './noises.mjs'

const build = process.env['BEFORE'] ?? new URL('../..', import.meta.url).pathname
const load = (file) => import(join(build, file)).then(({ default: module }) => module)

const { recognize, requestToken } = await load('dist/cjs/index.js')
const { dataflow, nodeFetch } = await load('dist/cjs/grpc.js')
const { soundswallower, startDevelopmentService } = await load('packages/service/dist/index.js')

const limits = { workers: 2, decodersPerWorker: 4 }

/** Runs `work` on items, a few at a time. The results are in the order of the items. */
const mapSome = async (items, atOnce, work) => {
  const results = []
  let next = 0
  const run = async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at])
  }
  await Promise.all(Array.from({ length: atOnce }, run))
  return results
}

const sessionsAtOnce = 3

/** Audio around an utterance that the engine gets with it. */
const marginMs = 200
const partSamples = rateHz / 10

/**
 * The engine gets each utterance as one segment, cut where the utterance is known to be. So it does without voice
 * activity, protocols and sockets, and its words are the best that a service can have.
 */
const readOffline = async (engine, { channels, utterances }) => {
  const segments = []
  for (const [channel, samples] of channels.entries()) {
    const parts = utterances
      .filter((utterance) => utterance.channel === channel)
      .flatMap(({ fromMs, toMs }) => {
        const [startMs, endMs] = [Math.max(0, fromMs - marginMs), toMs + marginMs]
        const audio = []
        const end = Math.min((endMs * rateHz) / 1000, samples.length)
        for (let at = (startMs * rateHz) / 1000; at < end; at += partSamples) {
          audio.push({ type: 'audio', samples: samples.slice(at, Math.min(at + partSamples, end)) })
        }
        return [{ type: 'open', startMs }, ...audio, { type: 'close', endMs }]
      })
    const hypotheses = await lastValueFrom(from(parts).pipe(engine.recognize(), toArray()))
    for (const { type, startMs, endMs, text } of hypotheses) {
      if (type === 'segment') segments.push({ channel, startMs, endMs, text })
    }
  }
  return segments
}

/** Two channels as frames, in messages of 20 ms. */
const messagesOf = (channels) => {
  const frames = new Int16Array(channels[0].length * channels.length)
  for (const [channel, samples] of channels.entries()) {
    for (const [at, value] of samples.entries()) frames[at * channels.length + channel] = value
  }
  const bytes = Buffer.from(frames.buffer)
  const messageBytes = (rateHz / 50) * 2 * channels.length
  return Array.from({ length: Math.ceil(bytes.length / messageBytes) }, (_none, at) =>
    bytes.subarray(at * messageBytes, (at + 1) * messageBytes),
  )
}

/** The segments of a session, with text or without, and at which time of the clock each was received. */
const readOnline = async (open, { channels }, isPaced) => {
  const segments = []
  let beginMs = performance.now()
  const messages = messagesOf(channels)
  const audio = async function* () {
    beginMs = performance.now()
    for (const [at, message] of messages.entries()) {
      // Late timers are made up for.
      const waitMs = beginMs + 20 * (at + 1) - performance.now()
      if (isPaced && waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
      yield message
    }
  }
  const keep = (event) => {
    const { channel, startMs, endMs } = event
    const isNoMatch = event.type === 'event' && event.name === 'SR No Match'
    if (event.type !== 'milestone' && !isNoMatch) return
    const text = isNoMatch ? '' : event.text.trim()
    segments.push({ channel: channel ?? 0, startMs, endMs, text, atMs: performance.now() - beginMs })
  }
  await lastValueFrom(
    open({ encoding: 'pcm', sampleRateHz: rateHz, channels: channels.length })(audio()).pipe(tap(keep)),
  )
  return segments
}

/**
 * Calls `use` with the ways to read the talks of a set, by their names. A way takes talks, and whether they are sent at
 * the pace of speech, all at once. It returns the segments of each as `{ channel, startMs, endMs, text, atMs }`: `text`
 * is empty if the segment matched nothing, and `atMs` says when it was received, after the begin of the audio.
 */
export const withWays = async ({ grammar }, use) => {
  const folder = mkdtempSync(join(tmpdir(), 'rxspeech-accuracy-'))
  const model = join(folder, 'models/Default/measured/1')
  mkdirSync(model, { recursive: true })
  writeFileSync(join(model, 'measured.gram'), grammar)
  writeFileSync(join(model, 'model.json'), JSON.stringify({ engine: 'soundswallower', grammar: 'measured.gram' }))
  const service = await startDevelopmentService({
    stateFolder: join(folder, 'state'),
    modelFolders: [join(folder, 'models')],
    engines: [soundswallower(limits)],
  })
  try {
    const { access } = service
    const ca = readFileSync(access.ca)
    const { authUrl, clientId, clientSecret, tenant, project } = access
    const { accessToken } = await firstValueFrom(
      requestToken({ authUrl, clientId, clientSecret, fetch: nodeFetch({ ca }) }),
    )
    const options = { connection: { ca }, token: accessToken, model: 'measured', timeouts: { finalizeMs: 120_000 } }
    const sessions = {
      WebSocket: (format) => recognize({ ...options, url: access.wsUrl, format }),
      gRPC: (format) => dataflow({ ...options, url: access.grpc, tenant, project, format }),
    }
    const online =
      (open) =>
      (talks, isPaced = false) =>
        mapSome(talks, isPaced ? talks.length : sessionsAtOnce, (talk) => readOnline(open, talk, isPaced))
    return await use({
      'engine alone': (talks) =>
        withEngine({ model }, limits, (engine) => mapSome(talks, sessionsAtOnce, (talk) => readOffline(engine, talk))),
      WebSocket: online(sessions.WebSocket),
      gRPC: online(sessions.gRPC),
    })
  } finally {
    await service.close({ drainMs: 0 })
    rmSync(folder, { recursive: true })
  }
}
