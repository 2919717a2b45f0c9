import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import type { McpCallResult } from '../factory.ts';

/** A model reads text: blocks that are none are named by kind and size. */
export function toCallResult(result: CallToolResult): McpCallResult {
  const text = result.content.map(blockText).join('\n');
  const { structuredContent } = result;
  return {
    text,
    ...(structuredContent !== undefined && { structured: structuredContent }),
    isError: result.isError === true,
  };
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return `[${block.type} ${block.mimeType}, ${Buffer.byteLength(block.data, 'base64')} bytes]`;
    case 'resource_link':
      return `[resource ${block.name}: ${block.uri}]`;
    case 'resource':
      return 'text' in block.resource
        ? block.resource.text
        : `[resource ${block.resource.uri}, ${Buffer.byteLength(block.resource.blob, 'base64')} bytes]`;
  }
}
