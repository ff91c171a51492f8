// The page docs/ACCURACY.md: its sections are replaced one by one, so that a part of it can be measured again.
import { existsSync, readFileSync } from 'node:fs'
import { errorRate, quantile, sumOf, transports } from './words.mjs'

const table = (head, rows) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

const allWays = ['engine alone', ...transports]

const counts = ({ right, substituted, inserted, deleted }) => `${right} / ${substituted} / ${inserted} / ${deleted}`
const signed = (value) => (value < 0 ? '' : '+') + value.toFixed(1)
const of = (rows, way) => sumOf(rows.filter((row) => row.way === way))

/** How many points more of the words the service has wrong than the engine, over the transport that is worse. */
export const difference = (rows) =>
  Math.max(...transports.map((way) => errorRate(of(rows, way)) - errorRate(of(rows, 'engine alone'))))

const groupsOf = (rows) => [...new Set(rows.map(({ set, line }) => `${set}|${line}`))]

const wordCells = (set, line, rows) => {
  const scores = allWays.map((way) => of(rows, way))
  const [{ words }] = scores
  const rates = scores.map((score) => `${counts(score)} (${errorRate(score).toFixed(1)} %)`)
  return [set, line, String(words), ...rates, signed(difference(rows))]
}

const inGroup = (group) => (row) => `${row.set}|${row.line}` === group

export const wordTable = (rows) =>
  table(
    ['Speech', 'Line', 'Words', 'Engine alone', 'WebSocket', 'gRPC', 'Service − engine, points'],
    [
      ...groupsOf(rows).map((group) => wordCells(...group.split('|'), rows.filter(inGroup(group)))),
      wordCells('all', 'all', rows),
    ],
  )

const ms = (values) => [0.5, 0.95].map((share) => Math.round(quantile(values, share) ?? NaN)).join(' / ')

export const segmentTable = (rows) => {
  const lines = [...new Set(rows.map(({ line }) => line))]
  return table(
    [
      'Line',
      'Transport',
      'Sentences',
      'In several segments',
      'Without a segment',
      'False segments',
      'Decided after, ms p50 / p95',
    ],
    lines.flatMap((line) =>
      transports.map((way) => {
        const score = of(
          rows.filter((row) => row.line === line),
          way,
        )
        const cells = [score.utterances, score.cut, score.unheard, score.false].map(String)
        return [line, way, ...cells, ms(score.decidedMs)]
      }),
    ),
  )
}

export const pacedTable = (rows) =>
  table(
    ['Transport', 'Sessions at once', 'Sentences', 'Decided after, ms p50 / p95', 'Received after, ms p50 / p95'],
    rows.map(({ way, sessions, receivedMs, decidedMs }) => [
      way,
      String(sessions),
      String(receivedMs.length),
      ms(decidedMs),
      ms(receivedMs),
    ]),
  )

/** What a program printed. */
export const printed = (command, text) => `\`${command}\` prints:\n\n\`\`\`text\n${text.trim()}\n\`\`\``

const introduction = `# Accuracy

What the embedded engine and the service recognize, measured by \`npm run accuracy\` in a checkout, which makes this page with \`--write\`. Its sections are
measured one by one: \`npm run accuracy -- words --write\`. Each says by which versions it was measured. It takes about half an hour on two free cores.
The speech is that of voices of flite and espeak-ng, except for the recordings of people, which are not part of the checkout; so judge a model
by recordings of yours. The person of the rejection speaks telephone prompts; \`bench/accuracy/prompts.mjs\` says where her recordings are.
[ENGINES](ENGINES.md#rejection) says what to make of it.
`

const headings = {
  words: 'Words',
  delays: 'Delays at the pace of speech',
  rejection: 'Rejection and confidence',
  steadiness: 'Shifts and levels',
  'voice-gate': 'Voice activity',
  'free-speech': 'Any English speech',
  'free-text': 'Voice activity of free speech',
  sound: 'Sound check',
}

export const sectionNames = Object.keys(headings)

export const sectionText = (name, versions, body) => `## ${headings[name]}\n\n${body}\n\nMeasured with ${versions}.\n`

/** The page with new sections; other sections stay. */
export const pageWith = (file, sections) => {
  const page = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const former = new Map(page.split(/^(?=## )/m).map((text) => [/^## (.*)$/m.exec(text)?.[1], text.trim()]))
  const texts = sectionNames.map((name) => sections.get(name)?.trim() ?? former.get(headings[name]))
  return `${[introduction.trim(), ...texts.filter((text) => text !== undefined)].join('\n\n')}\n`
}
