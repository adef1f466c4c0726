import DefaultTheme from "vitepress/theme-without-fonts";
import { useRoute } from "vitepress";
import { nextTick, onMounted, watch } from "vue";
import "./style.css";
import { enliven, showInSidebar, unfoldForPrint } from "./live.js";

export default {
  extends: DefaultTheme,
  setup() {
    const route = useRoute();
    const show = () => {
      enliven();
      showInSidebar();
    };
    onMounted(() => {
      unfoldForPrint();
      show();
    });
    watch(() => route.path, () => nextTick(show));
  },
};
