/** The program of a page with captions. Its address has the options of the session, and the test sees its events. */
export const captionProgram = `
import { Subject } from 'rxjs'
import { recognize } from 'rxspeech'
import { microphone } from 'rxspeech/microphone'

const { url, token, deviceId } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)))
const finalize$ = new Subject()
const voice$ = microphone({ sampleRateHz: 8000, deviceId })
const seen = { text: '', events: [], states: [], peak: 0, pieces: 0, ended: '' }
globalThis.seen = seen
voice$.state$.subscribe((state) => seen.states.push(state))
voice$.levels$.subscribe(({ peak }) => { seen.pieces += 1; seen.peak = Math.max(seen.peak, peak) })
const start = () =>
  recognize({ url, token, model: 'call', format: voice$.format, finalize$ })(voice$).subscribe({
    next: (event) => {
      seen.events.push(event)
      if (event.type === 'milestone') seen.text += event.text
    },
    error: ({ code, message }) => { seen.ended = code + ': ' + message },
    complete: () => { seen.ended = 'completed' },
  })
document.querySelector('#start').onclick = () => { globalThis.session = start() }
document.querySelector('#stop').onclick = () => finalize$.next()
document.title = 'ready'
`

/** The page of the program. */
export const captionPage = (head = '<script type="module" src="/main.js"></script>'): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>captions</title></head><body>
<button id="start">start</button><button id="stop">stop</button>${head}</body></html>`

/** What the page shows. */
export interface Seen {
  readonly text: string
  readonly events: readonly Readonly<Record<string, unknown>>[]
  readonly states: readonly string[]
  readonly peak: number
  readonly pieces: number
  readonly ended: string
}
