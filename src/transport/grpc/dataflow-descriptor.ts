const stream = { fields: { message: { type: 'Content', id: 1 } } }

/**
 * `proto/dataflow.proto` as JSON of protobufjs, so that a program in one file needs no other file. A test keeps the two
 * equal.
 */
export const dataflowDescriptor = {
  nested: {
    dataflow: {
      methods: {
        Stream: {
          requestType: 'StreamInput',
          requestStream: true,
          responseType: 'StreamOutput',
          responseStream: true,
          comment: '',
        },
      },
    },
    CONTENT_TYPE: { values: { AUDIO: 0, EVENT: 1, REQUEST: 2, RESPONSE: 3 } },
    Content: {
      fields: {
        content: { type: 'string', id: 1 },
        binary_content: { type: 'bytes', id: 2 },
        content_type: { type: 'CONTENT_TYPE', id: 3 },
      },
    },
    StreamInput: stream,
    StreamOutput: stream,
  },
}
