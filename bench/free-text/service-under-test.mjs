// The measured service on a core of its own, and sessions of it as the bench plays recordings into them.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { firstValueFrom, lastValueFrom, tap } from 'rxjs'
import { recognize, requestToken } from '../../dist/cjs/index.js'
import { nodeFetch } from '../../dist/cjs/grpc.js'
import { paced, summarize } from './play.mjs'
import { processCost } from './process-cost.mjs'

/** Runs a command on the first core, so that its clients run on the others. */
export const pinned = (command) => ['taskset', '-c', '0', ...command]

export const bytesOf = (samples) => Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength)

/**
 * Starts the service with settings of its model, such as `{ partials: 'off' }`, and limits of its own. PROFILES names a
 * folder for a profile of it.
 */
export const startMeasuredService = async (settings, limits = {}) => {
  const profiles = process.env['PROFILES']
  const profiled = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`]
  const [command, ...args] = pinned([process.execPath, ...profiled])
  const file = new URL('./free-text-service.mjs', import.meta.url).pathname
  const child = fork(file, [JSON.stringify(settings), JSON.stringify(limits)], { execPath: command, execArgv: args })
  const [{ access }] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`The service ended with ${code}.`))),
  ])
  const ca = readFileSync(access.ca)
  const { authUrl, clientId, clientSecret } = access
  const { accessToken } = await firstValueFrom(
    requestToken({ authUrl, clientId, clientSecret, fetch: nodeFetch({ ca }) }),
  )

  /**
   * Plays a recording: `{ samples, rateHz, text }`. The result is that of `summarize`, with how long after its end each
   * segment was received, and how often the connection was lost.
   */
  const play = async ({ samples, rateHz, text: said }, { isPaced = true, url = access.wsUrl } = {}) => {
    const sent = {}
    const updates = []
    const delaysMs = []
    let milestones = ''
    let finalMs = 0
    let reconnects = 0
    const audio = async function* () {
      for await (const part of paced({ samples, rateHz }, { isPaced, sent })) yield bytesOf(part)
    }
    const keep = (event) => {
      const atMs = performance.now() - sent.beginMs
      if (event.type === 'partial') {
        const before = milestones === '' ? '' : `${milestones} `
        const committedLength = before.length + (event.stableLength ?? 0)
        updates.push({ atMs, text: before + event.text, committedLength })
      } else if (event.type === 'milestone') {
        milestones += event.text
        delaysMs.push(atMs - event.endMs)
        updates.push({ atMs, text: milestones, committedLength: milestones.length })
      } else if (event.type === 'final') finalMs = atMs
      else if (event.type === 'connection' && event.state === 'reconnecting') reconnects += 1
    }
    const session = recognize({
      connection: { ca },
      token: accessToken,
      url,
      model: 'English',
      voiceActivity: { gracefulSilenceThresholdMs: 0 },
      timeouts: { finalizeMs: 300_000 },
      format: { encoding: 'pcm', sampleRateHz: rateHz, channels: 1 },
    })
    await lastValueFrom(session(audio()).pipe(tap(keep)), { defaultValue: undefined })
    return { ...summarize(updates, { said, sent, finalMs }), delaysMs, reconnects }
  }

  return {
    access,
    play,
    cost: () => processCost(child.pid),
    close: async () => {
      child.disconnect()
      await once(child, 'exit')
    },
  }
}
