//! What little Markdown the page shows, as HTML.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

/// Paragraphs, lists, stress, code, and links into the page itself; of other links the words. Nothing else becomes a tag.
pub fn rendered(text: &str) -> String {
    let mut out = String::new();
    // Of each link that is open: does it lead into the page?
    let mut links = Vec::new();
    // Headings, pictures and tables that are open.
    let mut left_out = 0;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Heading { .. } | Tag::Image { .. }) => left_out += 1,
            Event::End(TagEnd::Heading(_) | TagEnd::Image) => left_out -= 1,
            _ if left_out > 0 => {}
            Event::Start(Tag::Link { dest_url, .. }) => {
                let leads_here = dest_url.starts_with('#');
                if leads_here {
                    out += "<a href=\"";
                    escaped(&dest_url, &mut out);
                    out += "\">";
                }
                links.push(leads_here);
            }
            Event::End(TagEnd::Link) => out += if links.pop() == Some(true) { "</a>" } else { "" },
            Event::Start(tag) => out += tag_of(&tag.to_end()).0,
            Event::End(tag) => out += tag_of(&tag).1,
            Event::Text(text) => escaped(&text, &mut out),
            Event::Code(text) => {
                out += "<code>";
                escaped(&text, &mut out);
                out += "</code>";
            }
            Event::SoftBreak => out.push('\n'),
            Event::HardBreak => out += "<br>",
            _ => {}
        }
    }
    out
}

fn tag_of(tag: &TagEnd) -> (&'static str, &'static str) {
    match tag {
        TagEnd::Paragraph => ("<p>", "</p>"),
        TagEnd::Emphasis => ("<em>", "</em>"),
        TagEnd::Strong => ("<strong>", "</strong>"),
        TagEnd::List(true) => ("<ol>", "</ol>"),
        TagEnd::List(false) => ("<ul>", "</ul>"),
        TagEnd::Item => ("<li>", "</li>"),
        TagEnd::CodeBlock => ("<pre>", "</pre>"),
        _ => ("", ""),
    }
}

fn escaped(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '<' => *out += "&lt;",
            '>' => *out += "&gt;",
            '&' => *out += "&amp;",
            '"' => *out += "&quot;",
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::rendered;

    #[test]
    fn words_are_kept_and_nothing_becomes_a_tag_by_itself() {
        let of = |text: &str| rendered(text);
        assert_eq!(
            of("# Head\n\nA *b* `c<d` [e](f.md) [g](#at=2s)"),
            "<p>A <em>b</em> <code>c&lt;d</code> e <a href=\"#at=2s\">g</a></p>"
        );
        assert_eq!(of("1. a\n2. b ![x](y.png)"), "<ol><li>a</li><li>b </li></ol>");
        assert!(!of("<script>x</script>\n\na <b onclick=x>b</b>").contains("<script"));
        assert!(!of("a <b onclick=x>b</b>").contains("onclick"));
    }
}
