// Takes numbers out of transcripts: digits, and the words for them, become # before anyone else in the project sees them.
import { map } from 'rxjs'
import { defineNode, nodeOptions, text, wholeNumberFrom } from 'rxspeech/nodes'

const spoken = 'zero oh one two three four five six seven eight nine'.split(' ')
const isDigit = (word) => /\d/.test(word) || spoken.includes(word.toLowerCase())

/** Runs of at least `least` digits are redacted; a single "one" mostly is none. */
const redact = (words, least, mark) => {
  const out = []
  let run = []
  const close = () => {
    out.push(...(run.length < least ? run : run.map(() => mark)))
    run = []
  }
  for (const word of words) {
    if (isDigit(word)) run.push(word)
    else {
      close()
      out.push(word)
    }
  }
  close()
  return out
}

const redactText = (said, least, mark) => redact(said.split(' '), least, mark).join(' ')

const redactWords = (words, least, mark) => {
  const marked = redact(
    words.map(({ Text }) => Text),
    least,
    mark,
  )
  return words.map((word, at) => ({ ...word, Text: marked[at] }))
}

export const redactDigits = defineNode({
  name: 'redact-digits',
  summary: 'Takes spoken and written numbers out of the texts of events.',
  inputs: { events: 'event' },
  outputs: { events: 'event' },
  options: nodeOptions({}, { least: wholeNumberFrom(1, 20), mark: text }),
  // Rather no session than one whose numbers are seen.
  onFault: 'fail',
  open:
    ({ least = 2, mark = '#' }) =>
    (input$) =>
      input$.pipe(
        map((item) => {
          const { Text, Words, ...data } = item.event.data ?? {}
          if (typeof Text !== 'string') return item
          const words = Array.isArray(Words) ? { Words: redactWords(Words, least, mark) } : {}
          return { ...item, event: { ...item.event, data: { ...data, Text: redactText(Text, least, mark), ...words } } }
        }),
      ),
})
