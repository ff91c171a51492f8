import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { from, mergeMap, tap } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import type { Engine } from '../../../engines/src/engine.js'
import { defineNode } from '../../../server/src/nodes/core/define-node.js'
import { noOptions } from '../../../server/src/nodes/core/node-options.js'
import type { NodeItem } from '../../../server/src/nodes/core/node.js'
import type { ServiceOptions } from '../../src/configuration/service-options.js'
import { scriptedEngine } from '../../src/testing/scripted-engine.js'
import { spoken } from '../../../server/test/sessions/spoken.js'
import { breakingEngine } from '../../../engines/test/breaking-engine.js'
import { plainService, startOf, type PlainService } from '../plain-service.js'
import { openStream, plainClient, type Conversation } from './plain-dataflow-client.js'

let open: PlainService | undefined
let projects: string | undefined
afterEach(async () => {
  await open?.close()
  if (projects !== undefined) await rm(projects, { recursive: true })
  open = undefined
  projects = undefined
})

const fields = ['Name', 'Channel', 'StartMsec', 'EndMsec', 'GroupId', 'Tags', 'Data']

const eventNode = (name: string, take: (item: NodeItem) => readonly NodeItem[]) =>
  defineNode({
    name,
    summary: 'A node of the test.',
    inputs: { events: 'event' },
    outputs: { events: 'event' },
    options: noOptions,
    open: () => (input$) => input$.pipe(mergeMap((item) => from(take(item)))),
  })

/** Adds an event that has only a name, and one as a node in JavaScript may write it. */
const bare = eventNode('bare', (item) => [
  item,
  { type: 'event', event: { name: 'Bare' } },
  {
    type: 'event',
    event: JSON.parse('{"name":"Nulls","channel":null,"groupId":null,"tags":null}') as { readonly name: string },
  },
])
const failing = defineNode({
  name: 'failing',
  summary: 'Throws at its first event.',
  inputs: { events: 'event' },
  outputs: { events: 'event' },
  options: noOptions,
  open: () => (input$) =>
    input$.pipe(
      tap(() => {
        throw new Error('A fault of the test.')
      }),
    ),
})

const project = `version: 1
inputs: { channels: 1 }
nodes:
  in: entry
  words: recognizer
  bare: bare
  failing: { node: failing, onFault: bypass }
  tags: { node: event-tagger, options: { rules: [{ name: SR Milestone, tags: [said], groupId: one }] } }
  out: publisher
wires:
  - in -> words
  - words -> bare
  - bare -> failing
  - failing -> tags
  - tags -> out
`

const session = async (options: Partial<ServiceOptions>, start: object, engine: Engine): Promise<Conversation> => {
  open = await plainService(options, [], engine)
  const client = plainClient(open)
  const stream = openStream(client)
  stream.request(startOf(open.token, { ...start }))
  await stream.answered
  stream.raw({ binary_content: await spoken(4_000), content_type: 0 })
  stream.request({ MessageName: 'Finalize' })
  const conversation = await stream.ended
  client.close()
  return conversation
}

const engine = (): Engine => scriptedEngine({ texts: ['hello world'] })

describe('every event on the stream has all seven fields', () => {
  it('from the transcribe project', async () => {
    const { events, status } = await session({}, {}, engine())
    expect(status).toBe('OK')
    expect(events.length).toBeGreaterThan(3)
    for (const event of events) expect(Object.keys(event)).toEqual(fields)
    for (const event of events) expect(event).toMatchObject({ GroupId: '', Tags: [] })
  })

  it('when the engine fails and the session ends', async () => {
    const { events, status } = await session({}, {}, breakingEngine(engine(), [2, 2, 2, 2, 2, 2, 2, 2]))
    expect(status).not.toBe('OK')
    expect(events.map((event) => event['Name'])).toEqual(expect.arrayContaining(['Engine Failed', 'SR Final']))
    for (const event of events) expect(Object.keys(event)).toEqual(fields)
  })

  it('from custom nodes, the event-tagger, and a node that fails', async () => {
    projects = await mkdtemp(join(tmpdir(), 'rxspeech-projects-'))
    await mkdir(join(projects, 'Default/seven'), { recursive: true })
    await writeFile(join(projects, 'Default/seven/1.yaml'), project)
    const nodes = [bare, failing]
    const { events, responses } = await session(
      { projectFolders: [projects], nodes },
      { ProjectName: 'seven' },
      engine(),
    )
    expect(responses[0], JSON.stringify(open?.started.projects.problems)).toMatchObject({
      'operation-result': 'success',
    })
    const names = new Set(events.map((event) => event['Name']))
    expect([...names]).toEqual(expect.arrayContaining(['Bare', 'Nulls', 'SR Milestone', 'Node Failed']))
    for (const event of events) expect(Object.keys(event)).toEqual(fields)
    const none = { Channel: -1, StartMsec: -1, EndMsec: -1, GroupId: '', Tags: [], Data: null }
    expect(events.find(({ Name }) => Name === 'Nulls')).toEqual({ Name: 'Nulls', ...none })
    expect(events.find(({ Name }) => Name === 'SR Milestone')).toMatchObject({ GroupId: 'one', Tags: ['said'] })
    expect(events.find(({ Name }) => Name === 'SR Partial')).toMatchObject({ GroupId: '', Tags: [] })
  })
})
