// The sources of audio of a session. Each has `source`, which the client reads, and `push` and `end`, which feed it.
import { Observable, Subject } from 'rxjs'

/** As a wrapper of an audio device would do it. */
const observable = () => {
  let subscriber
  const source = new Observable((subscribed) => {
    subscriber = subscribed
  })
  return { source, push: (bytes) => subscriber.next(bytes), end: () => subscriber.complete() }
}

const subject = () => {
  const source = new Subject()
  return { source, push: (bytes) => source.next(bytes), end: () => source.complete() }
}

/** An async iterable, as a Node stream is: each chunk is pulled. */
const iterable = () => {
  const waiting = []
  let first = 0
  let resume
  const push = (result) => {
    if (resume === undefined) waiting.push(result)
    else {
      const waiter = resume
      resume = undefined
      waiter(result)
    }
  }
  const next = () => {
    if (first === waiting.length) return new Promise((resolve) => (resume = resolve))
    const result = waiting[first]
    first += 1
    if (first === waiting.length) first = waiting.length = 0
    return Promise.resolve(result)
  }
  return {
    source: { [Symbol.asyncIterator]: () => ({ next }) },
    push: (value) => push({ done: false, value }),
    end: () => push({ done: true, value: undefined }),
  }
}

export const createSource = { observable, subject, iterable }
