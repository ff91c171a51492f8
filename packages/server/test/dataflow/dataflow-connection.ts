import { Observable, Subject } from 'rxjs'
import { expect } from 'vitest'
import { contentType } from '../../../../src/protocol/dataflow-messages.js'
import { serveDataflow } from '../../src/dataflow/session.js'
import type { SessionWatch } from '../../src/monitor/session-watch.js'
import type { SessionLimits } from '../../src/sessions/session-context.js'
import type { NodeContext, NodeItem, OpenNode } from '../../src/nodes/core/node.js'
import { defineNode } from '../../src/nodes/core/define-node.js'
import { noOptions } from '../../src/nodes/core/node-options.js'
import { graphProject, projectRegistry } from '../../src/project/project.js'
import { singleNodeGraph } from '../../src/project/transcribe-projects.js'
import type { DataflowMessage } from '../../../../src/transport/link.js'
import { flushPromises } from '../../../service/test/virtual-clock.js'
import { oneModel, stage, connect, type Stage, type TestConnection } from '../sessions/test-connection.js'

/** A node controlled by the test, and a record of its calls. */
export interface ScriptedNode {
  readonly open: OpenNode
  /** The outputs of the node. */
  readonly output$: Subject<NodeItem>
  readonly account: {
    /** Bytes of each audio message. */
    readonly audio: number[]
    /** Whether its input has completed. */
    finished: boolean
    /** Active subscriptions. */
    running: number
    context?: NodeContext
  }
}

export const event = (name: string): NodeItem => ({ type: 'event', event: { name } })

/** Emits `flushed` and completes when its input does, unless `holdsBack` is set. */
export const scriptedNode = (holdsBack = false): ScriptedNode => {
  const output$ = new Subject<NodeItem>()
  const account: ScriptedNode['account'] = { audio: [], finished: false, running: 0 }
  const open: OpenNode = (context) => {
    account.context = context
    return Promise.resolve(
      (input$) =>
        new Observable<NodeItem>((subscriber) => {
          account.running += 1
          subscriber.add(() => (account.running -= 1))
          subscriber.add(output$.subscribe(subscriber))
          subscriber.add(
            input$.subscribe({
              next: (item) => {
                if (item.type === 'audio') account.audio.push(item.bytes.length)
              },
              complete: () => {
                account.finished = true
                if (holdsBack) return
                subscriber.next(event('flushed'))
                subscriber.complete()
              },
            }),
          )
        }),
    )
  }
  return { open, output$, account }
}

const noBytes = new Uint8Array(0)

export const request = (json: unknown): DataflowMessage => ({
  contentType: contentType.request,
  content: typeof json === 'string' ? json : JSON.stringify(json),
  binaryContent: noBytes,
})

export const audio = (byteCount: number, content = ''): DataflowMessage => ({
  contentType: contentType.audio,
  content,
  binaryContent: new Uint8Array(byteCount),
})

/** An audio message with these bytes. */
export const audioOf = (binaryContent: Uint8Array): DataflowMessage => ({ ...audio(0), binaryContent })

/** Mono PCM at 8000 Hz. */
export const start = (change: Readonly<Record<string, unknown>> = {}): DataflowMessage =>
  request({
    MessageName: 'Start',
    Audio: { SampleRate: 8000, ChannelCount: 1, Encoding: 'pcm' },
    Tenant: 'Acme',
    Token: 'the-secret-token',
    ProjectName: 'talk',
    ...change,
  })

export const finalize = request({ MessageName: 'Finalize' })
export const stop = request({ MessageName: 'Stop' })

/** A message of the service in short form: `Start: success`, `?: unknown-message`, `flushed`, `audio 4`. */
const brief = ({ contentType: type, content, binaryContent }: DataflowMessage): string => {
  if (type === contentType.audio) return `audio ${binaryContent.length}`
  const json = JSON.parse(content) as Readonly<Record<string, string>>
  if (type === contentType.event) return json['Name'] ?? ''
  const name = (json['MessageName'] ?? '?').replace('Response', '')
  return `${name}: ${String(json['operation-result']).replace(/: .*/s, '')}`
}

export interface DataflowConnection extends Stage, TestConnection<DataflowMessage> {
  readonly send: (...messages: readonly DataflowMessage[]) => void
  /** All messages since the last call, in short form. */
  readonly since: () => readonly string[]
}

export const connectDataflow = (
  open: OpenNode,
  limits: Partial<SessionLimits> = {},
  admit?: () => Promise<void>,
  handlesDrain = false,
  watch?: SessionWatch,
): DataflowConnection => {
  const set = stage(
    oneModel(() => Promise.reject(new Error('no engine'))),
    limits,
    admit,
  )
  const node = defineNode({
    name: 'scripted',
    summary: 'Does what the test says.',
    inputs: { audio: 'audio' },
    outputs: { events: 'event', audio: 'audio' },
    options: noOptions,
    manualAck: true,
    handlesDrain,
    open: async (_options, context) => open(context),
  })
  const place = { tenant: 'Acme', name: 'talk', version: '1' }
  const projects = projectRegistry([graphProject(place, singleNodeGraph(node), { name: 'm' })])
  const connection = connect<DataflowMessage>(set.clock, (incoming$, link) =>
    serveDataflow(incoming$, link, { ...set.context, projects, watch }),
  )
  return {
    ...set,
    ...connection,
    send: (...messages) => {
      for (const message of messages) connection.client.send(message)
    },
    since: () => connection.received.splice(0).map(brief),
  }
}

export const states = ['opened', 'running', 'flushing'] as const
export type State = (typeof states)[number]

/** A connection in the given state, with its responses until then removed. */
export const inState = async (state: State): Promise<DataflowConnection & { readonly node: ScriptedNode }> => {
  const node = scriptedNode(state === 'flushing')
  const connection = connectDataflow(node.open)
  if (state !== 'opened') {
    connection.send(start())
    await flushPromises()
    if (state === 'flushing') connection.send(finalize)
    connection.since()
  }
  return { ...connection, node }
}

/** Places, nodes, timers and subscriptions are all released. */
export const nothingLeft = ({ clock, places, drain$ }: DataflowConnection, node?: ScriptedNode): void => {
  expect({
    places: places(),
    running: node?.account.running ?? 0,
    timers: clock.waiting,
    waitingForDrain: drain$.observed,
  }).toEqual({ places: 0, running: 0, timers: 0, waitingForDrain: false })
}

/** The connection of a client breaks. */
export const vanish = ({ client }: DataflowConnection): void => {
  client.close({ code: 'connection-lost', message: 'Gone.' })
}
