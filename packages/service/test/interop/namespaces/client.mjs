// Concurrent sessions in a separate network namespace. IPC: receives { ca, durationMs, sessions: [{ over, url, address,
// heartbeatMs }] }; sends 'received' once all of them have a result, and in the end the outcome of each.
import { dataflow } from 'rxspeech/grpc'
import { pace, recognize } from 'rxspeech'
import { positionAudio } from 'rxspeech/testing'

const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }
const chunkMs = 20

const sessionOf = ({ over, url, address, heartbeatMs }, ca) => {
  const connection = { ca, heartbeatMs }
  const common = { format, token: 'any', connection, resumption: { firstDelayMs: 50, maxDelayMs: 500 } }
  return over === 'grpc'
    ? dataflow({
        ...common,
        url: address,
        tenant: 'T',
        project: 'p',
      })
    : recognize({ ...common, url, model: 'm' })
}

const outcomeOf = (session$, onReceived) =>
  new Promise((resolve) => {
    const states = []
    let text = ''
    let gapMs = 0
    let ledger
    let resultAtMs
    let maxPauseMs = 0
    const resolveWith = (end) => resolve({ states, text, gapMs, ledger, maxPauseMs, end })
    session$.subscribe({
      next: (event) => {
        if (event.type === 'connection') states.push(event.state)
        if (['resumed', 'silent', 'gap'].includes(event.type)) states.push(event.type)
        if (event.type === 'gap') gapMs += event.toMs - event.fromMs
        if (event.type === 'ledger') ledger = event
        if (event.type === 'milestone') {
          text += event.text
          const nowMs = performance.now()
          if (resultAtMs === undefined) onReceived()
          maxPauseMs = Math.max(maxPauseMs, nowMs - (resultAtMs ?? nowMs))
          resultAtMs = nowMs
        }
      },
      error: (error) => resolveWith(String(error.code ?? error)),
      complete: () => resolveWith('complete'),
    })
  })

process.once('message', async ({ ca, durationMs, sessions }) => {
  let missing = sessions.length
  const onReceived = () => {
    missing -= 1
    if (missing === 0) process.send('received')
  }
  const outcomes = await Promise.all(
    sessions.map((session) => {
      const chunks = Array.from({ length: durationMs / chunkMs }, (_, index) =>
        positionAudio(index * chunkMs * 8, chunkMs * 8),
      )
      return outcomeOf(sessionOf(session, ca)(pace({ format })(chunks)), onReceived)
    }),
  )
  process.send(outcomes, () => process.disconnect())
})
