import { concatMap, EMPTY, map, of, type Observable } from 'rxjs'
import { describe, expectTypeOf, it } from 'vitest'
import type { EventEnvelope } from '../../../../../src/protocol/dataflow-events.js'
import {
  defineNode,
  nodeOptions,
  noOptions,
  numberFrom,
  resultOf,
  type MilestoneEvent,
  type Node,
  type NodeItem,
  type Word,
} from '../../../src/nodes.js'

const named = { name: 'typed', summary: 'Has types.', options: noOptions } as const

// The compiler checks these; each error that it must find is expected in its place.
describe('the types of a node', () => {
  it('narrow items to the kinds and the names of its ports', () => {
    expectTypeOf<NodeItem<{ events: 'event' }>>().toEqualTypeOf<{
      readonly type: 'event'
      readonly event: EventEnvelope
      readonly port?: 'events' | undefined
    }>()
    expectTypeOf<NodeItem<{ left: 'audio'; right: 'audio' }>['port']>().toEqualTypeOf<'left' | 'right' | undefined>()
    expectTypeOf<NodeItem<Record<string, never>>>().toBeNever()
    expectTypeOf<NodeItem<{ events: 'event' }>>().toExtend<NodeItem>()
    expectTypeOf<NodeItem['port']>().toEqualTypeOf<string | undefined>()
    expectTypeOf<Extract<NodeItem, { type: 'audio' }>['bytes']>().toEqualTypeOf<Uint8Array>()
  })

  it('are inferred from a definition', () => {
    defineNode({
      ...named,
      inputs: { speech: 'audio', events: 'event' },
      outputs: { events: 'event' },
      options: nodeOptions({}, { factor: numberFrom(0, 1) }),
      open: ({ factor }) => {
        expectTypeOf(factor).toEqualTypeOf<number | undefined>()
        return (input$) =>
          input$.pipe(
            concatMap((item) => {
              if (item.type === 'audio') {
                expectTypeOf(item.port).toEqualTypeOf<'speech' | undefined>()
                return EMPTY
              }
              expectTypeOf(item.port).toEqualTypeOf<'events' | undefined>()
              return of(item, { type: 'event', event: { name: 'Seen' } } as const)
            }),
          )
      },
    })
  })

  it('refuse audio without an audio output, and ports of other names', () => {
    defineNode({
      ...named,
      inputs: { audio: 'audio' },
      outputs: { events: 'event' },
      // @ts-expect-error -- it has no audio output
      open: () => (input$) => input$,
    })
    defineNode({
      ...named,
      inputs: { events: 'event' },
      outputs: { loud: 'event' },
      // @ts-expect-error -- its output has another name
      open: () => (input$) => input$.pipe(map(({ event }) => ({ type: 'event', event, port: 'quiet' }) as const)),
    })
    defineNode({
      ...named,
      inputs: { events: 'event' },
      outputs: { events: 'event' },
      open: () => (input$) =>
        // @ts-expect-error -- it has no audio input
        input$.pipe(map((item) => (item.type === 'audio' ? item : item))),
    })
  })

  it('take a node of any items', () => {
    const anyNode: Node = (input$) => input$
    expectTypeOf(anyNode).parameter(0).toEqualTypeOf<Observable<NodeItem>>()
  })

  it('have the fields of a result', () => {
    const result = resultOf({ name: 'SR Milestone' })
    if (result?.type !== 'milestone') return
    expectTypeOf(result).toEqualTypeOf<MilestoneEvent>()
    expectTypeOf(result.text).toEqualTypeOf<string>()
    expectTypeOf(result.words).toEqualTypeOf<readonly Word[] | undefined>()
  })
})
