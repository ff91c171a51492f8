// Scores the mood of a call with a table of words: after each milestone an event with its score and that of the call.
import { concatMap, defer, of } from 'rxjs'
import { defineNode, nodeOptions, numberFrom, tableOf } from 'rxspeech-service/nodes'

const everyday = { thanks: 1, great: 2, perfect: 2, works: 1, good: 1, sorry: -1, problem: -1, wrong: -2, angry: -2 }

const scoreOf = (text, lexicon) =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}']+/u)
    .reduce((sum, word) => sum + (Object.hasOwn(lexicon, word) ? lexicon[word] : 0), 0)

export const sentiment = defineNode({
  name: 'sentiment',
  summary: 'Scores milestones with a table of words.',
  inputs: { events: 'event' },
  outputs: { events: 'event' },
  options: nodeOptions({}, { lexicon: tableOf(numberFrom(-5, 5)) }),
  // The session is useful without scores.
  onFault: 'bypass',
  open:
    ({ lexicon = everyday }) =>
    (input$) =>
      defer(() => {
        const totals = new Map()
        return input$.pipe(
          concatMap((item) => {
            const { name, channel = -1, data, startMs = -1, endMs = -1 } = item.event
            if (name !== 'SR Milestone' || typeof data?.Text !== 'string') return of(item)
            const score = scoreOf(data.Text, lexicon)
            const total = (totals.get(channel) ?? 0) + score
            totals.set(channel, total)
            const event = { name: 'Sentiment', channel, startMs, endMs, data: { Score: score, Total: total } }
            return of(item, { type: 'event', event })
          }),
        )
      }),
})
