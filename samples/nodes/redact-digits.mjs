// Removes numbers from transcripts: digits and the words for them become # before other nodes of the project see them.
import { map } from 'rxjs'
import { defineNode, nodeOptions, nonEmptyText, wholeNumberFrom } from 'rxspeech-service/nodes'

const spoken = 'zero oh one two three four five six seven eight nine'.split(' ')
const isDigit = (word) => /\d/.test(word) || spoken.includes(word.toLowerCase())

/** Redacts runs of at least `minDigits` digits, because a single "one" is usually not a number. */
const redact = (words, minDigits, mark) => {
  const out = []
  let run = []
  const close = () => {
    out.push(...(run.length < minDigits ? run : run.map(() => mark)))
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

const redactText = (transcript, minDigits, mark) => redact(transcript.split(' '), minDigits, mark).join(' ')

const redactWords = (words, minDigits, mark) => {
  const marked = redact(
    words.map(({ Text }) => Text),
    minDigits,
    mark,
  )
  return words.map((word, at) => ({ ...word, Text: marked[at] }))
}

export const redactDigits = defineNode({
  name: 'redact-digits',
  summary: 'Removes spoken and written numbers from the texts of events.',
  inputs: { events: 'event' },
  outputs: { events: 'event' },
  options: nodeOptions({}, { minDigits: wholeNumberFrom(1, 20), mark: nonEmptyText }),
  // Without the node, numbers would be visible: the session has to fail.
  onFault: 'fail',
  open:
    ({ minDigits = 2, mark = '#' }) =>
    (input$) =>
      input$.pipe(
        map((item) => {
          const { Text, Words, ...data } = item.event.data ?? {}
          if (typeof Text !== 'string') return item
          const words = Array.isArray(Words) ? { Words: redactWords(Words, minDigits, mark) } : {}
          return {
            ...item,
            event: { ...item.event, data: { ...data, Text: redactText(Text, minDigits, mark), ...words } },
          }
        }),
      ),
})
