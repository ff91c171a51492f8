// Clients on a machine of their own. IPC:
// { id, type: 'call', over, url, token, tenant, ca, toMs, repeats, markMs, heartbeatMs } plays the sample call until `toMs` in real time,
//   once, or again and again until { id, type: 'finish' }; without `toMs` nothing is said. Sends { id, type: 'streaming' } when the
//   session runs, 'mark' when `markMs` were played, and 'outcome' in the end.
// { id, type: 'post', url, form } sends { id, type: 'answer', status, body }.
import { readFileSync } from 'node:fs'
import { dataflow } from 'rxspeech/grpc'
import { pace, recognize } from 'rxspeech'
import { NEVER, tap } from 'rxjs'

const format = { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 }
const chunkMs = 20
const bytesPerMs = 16
const file = readFileSync(new URL('../../../../samples/call.wav', import.meta.url))
const samples = file.subarray(file.indexOf('data') + 8)
const finished = new Set()

function* chunksOf({ id, toMs, repeats }) {
  for (let pass = 0; pass === 0 || (repeats && !finished.has(id)); pass += 1) {
    for (let startMs = 0; startMs < toMs; startMs += chunkMs) {
      yield samples.subarray(startMs * bytesPerMs, (startMs + chunkMs) * bytesPerMs)
    }
  }
}

const sourceOf = (job) => {
  if (job.toMs === undefined) return NEVER
  let sentMs = 0
  return pace({ format })(chunksOf(job)).pipe(
    tap(() => {
      sentMs += chunkMs
      if (sentMs === job.markMs) process.send({ id: job.id, type: 'mark' })
    }),
  )
}

const sessionOf = ({ over, url, token, tenant = 'Default', ca, heartbeatMs }) => {
  const common = { format, token, connection: { ca, heartbeatMs }, resumption: { firstDelayMs: 50, maxDelayMs: 500 } }
  return over === 'grpc'
    ? dataflow({
        ...common,
        ...{ url, tenant, project: 'transcribe', finalizeBy: 'request' },
        settings: { ModelName: 'call' },
      })
    : recognize({ ...common, url, model: 'call', voiceActivity: { gracefulSilenceThresholdMs: 0 } })
}

const call = (job) => {
  const { id } = job
  const states = []
  const milestones = []
  const ledgers = new Map()
  let gapMs = 0
  let startedMs = 0
  const end = (how) => {
    const outcome = { end: how, states, milestones, ledgers: [...ledgers.values()], gapMs, startedMs }
    process.send({ id, type: 'outcome', ...outcome })
  }
  const source = sourceOf(job).pipe(tap(() => (startedMs ||= Date.now())))
  sessionOf(job)(source).subscribe({
    next: (event) => {
      if (event.type === 'connection') {
        states.push(event.state)
        if (event.state === 'streaming') process.send({ id, type: 'streaming' })
      } else if (event.type === 'resumed' || event.type === 'silent') states.push(event.type)
      else if (event.type === 'gap') gapMs += event.toMs - event.fromMs
      else if (event.type === 'ledger') ledgers.set(event.channel, event)
      else if (event.type === 'milestone') {
        milestones.push({ channel: event.channel, text: event.text, atMs: Date.now() })
      }
    },
    error: (error) => end(String(error.code ?? error)),
    complete: () => end('complete'),
  })
}

const post = async ({ id, url, form }) => {
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(form) }).catch(() => undefined)
  process.send({ id, type: 'answer', status: answer?.status ?? 0, body: (await answer?.json()) ?? {} })
}

process.on('message', (job) => {
  if (job.type === 'call') call(job)
  else if (job.type === 'post') void post(job)
  else finished.add(job.id)
})
